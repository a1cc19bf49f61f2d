"""DataSynthesizer in its correlated attribute mode (PrivBayes), defaults except for the budget."""

import tempfile

from arguments import arguments
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator


def main() -> None:
    given = arguments()
    describer = DataDescriber(category_threshold=max(given.sizes.values()) + 1)
    describer.describe_dataset_in_correlated_attribute_mode(
        dataset_file=given.train,
        k=given.degree,
        epsilon=float(given.epsilon),
        attribute_to_is_categorical=dict.fromkeys(given.sizes, True),
        attribute_to_is_candidate_key=dict.fromkeys(given.sizes, False),
    )
    with tempfile.NamedTemporaryFile(suffix=".json") as description:
        describer.save_dataset_description_to_file(description.name)
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(given.rows, description.name)
        generator.save_synthetic_data(given.out)


if __name__ == "__main__":  # it starts processes of its own
    main()
