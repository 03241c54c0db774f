"""D = A·B as a whole: which rows, columns and slices of K are multiplied, and where D is stored."""
