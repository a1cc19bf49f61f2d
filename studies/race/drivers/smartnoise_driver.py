"""smartnoise-synth's MST or AIM on codes, with the public domain instead of the values that occur."""

import pandas as pd
from arguments import arguments
from snsynth import Synthesizer, TableTransformer

given = arguments()
names = list(given.sizes)
# By itself it takes the values of a column from the records; these rows have every value of the domain.
longest = max(given.sizes.values())
public = pd.DataFrame({name: [str(row % given.sizes[name]) for row in range(longest)] for name in names})
domain = TableTransformer.create(public, style="cube", categorical_columns=names)
domain.fit(public)
frame = pd.read_csv(given.train).astype(str)
synthesizer = Synthesizer.create(given.method, epsilon=float(given.epsilon), delta=given.delta)
synthesizer.fit(frame, transformer=domain)
synthesizer.sample(given.rows)[names].to_csv(given.out, index=False)
