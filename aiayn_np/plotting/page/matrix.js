"use strict";
// What transformer.js computes with: matrices, and a model built from the data of the page.

/** A matrix (rows, columns), its numbers row by row. */
class Matrix {
  constructor(rows, columns, data = new Float64Array(rows * columns)) {
    Object.assign(this, { rows, columns, data });
  }

  static of(rows, columns, number) {
    const y = new Matrix(rows, columns);
    for (let i = 0, n = 0; i < rows; i++)
      for (let j = 0; j < columns; j++) y.data[n++] = number(i, j);
    return y;
  }

  row(i) {
    return this.data.subarray(i * this.columns, (i + 1) * this.columns);
  }

  map(number) {
    return new Matrix(this.rows, this.columns, this.data.map(number));
  }

  plus(other) {
    const [y, a, b] = [new Matrix(this.rows, this.columns), this.data, other.data];
    for (let n = 0; n < y.data.length; n++) y.data[n] = a[n] + b[n];
    return y;
  }

  /** The matrix product, this @ other. */
  times(other) {
    const y = new Matrix(this.rows, other.columns);
    const [a, b, c, inner, columns] = [this.data, other.data, y.data, this.columns, other.columns];
    for (let i = 0, n = 0; i < this.rows; i++, n += columns) {
      for (let k = 0, place = 0; k < inner; k++, place += columns) {
        const x = a[i * inner + k];
        if (x === 0) continue; // as after the ReLU
        for (let j = 0; j < columns; j++) c[n + j] += x * b[place + j];
      }
    }
    return y;
  }

  /** this @ other.mT, without a copy of the other one. */
  times_mT(other) {
    const [a, b, inner] = [this.data, other.data, this.columns];
    return Matrix.of(this.rows, other.rows, (i, j) => {
      let sum = 0;
      for (let k = 0; k < inner; k++) sum += a[i * inner + k] * b[j * inner + k];
      return sum;
    });
  }

  /** The transpose. */
  get mT() {
    return Matrix.of(this.columns, this.rows, (i, j) => this.data[j * this.columns + i]);
  }
}

/** Softmax of one row, in place. */
function softmax(row) {
  const highest = row.reduce((a, b) => Math.max(a, b), -Infinity);
  if (highest === -Infinity) return row.fill(0);
  let total = 0;
  for (let j = 0; j < row.length; j++) total += row[j] = Math.exp(row[j] - highest);
  for (let j = 0; j < row.length; j++) row[j] /= total;
  return row;
}

/** The layer that a node {class, ...parts} describes; {shape, at} is a parameter among `values`. */
function build(node, values) {
  if (Array.isArray(node)) return node.map((child) => build(child, values));
  if (node === null || typeof node !== "object") return node;
  if (node.shape) return parameter(node.shape, values.subarray(node.at));
  const entries = Object.entries(node).map(([name, child]) => [name, build(child, values)]);
  const parts = Object.fromEntries(entries);
  return node.class ? new LAYERS[node.class](parts) : parts;
}

/** A list of numbers, a Matrix, or a list of matrices: views of the values, with 1, 2, 3 axes. */
function parameter(shape, values) {
  const size = shape.reduce((a, b) => a * b, 1);
  if (shape.length === 1) return values.subarray(0, size);
  if (shape.length === 2) return new Matrix(...shape, values.subarray(0, size));
  const [n, ...rest] = shape;
  return Array.from({ length: n }, (_, i) => parameter(rest, values.subarray((i * size) / n)));
}
