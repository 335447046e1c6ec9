"""What is labelled, by whom: data, studies, labels, and the pages that collect them."""
