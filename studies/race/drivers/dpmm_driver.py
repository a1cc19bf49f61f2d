"""dpmm's pipelines on codes, without its binning (which would cost an extra epsilon)."""

import pandas as pd
from arguments import arguments


def main() -> None:
    given = arguments()
    from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline

    pipeline = {"mst": MSTPipeline, "aim": AIMPipeline, "privbayes": PrivBayesPipeline}[given.method]
    frame = pd.read_csv(given.train)
    model = pipeline(epsilon=float(given.epsilon), delta=given.delta, disable_processing=True)
    model.fit(frame, domain=given.sizes)
    model.generate(n_records=given.rows)[list(given.sizes)].to_csv(given.out, index=False)


if __name__ == "__main__":  # it starts processes of its own
    main()
