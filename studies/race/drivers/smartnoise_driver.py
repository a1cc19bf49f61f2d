"""smartnoise-synth's MST or AIM on codes."""

import pandas as pd
from arguments import arguments
from snsynth import Synthesizer

given = arguments()
frame = pd.read_csv(given.train).astype(str)
synthesizer = Synthesizer.create(given.method, epsilon=float(given.epsilon), delta=given.delta)
synthesizer.fit(frame, categorical_columns=list(given.sizes), preprocessor_eps=0.0)
synthesizer.sample(given.rows)[list(given.sizes)].to_csv(given.out, index=False)
