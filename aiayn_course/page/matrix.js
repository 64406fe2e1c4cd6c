"use strict";
// What transformer.js computes with: matrices, and a model built from the data of the page.

/** A matrix (rows, columns), its numbers row by row. */
class Matrix {
  constructor(rows, columns, data = new Float64Array(rows * columns)) {
    this.rows = rows;
    this.columns = columns;
    this.data = data;
    this.products = null; // a parameter keeps its last ones: see `copy_rows`
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
    const [y, a] = [new Matrix(this.rows, this.columns), this.data];
    for (let n = 0; n < a.length; n++) y.data[n] = number(a[n], n);
    return y;
  }

  plus(other) {
    const [y, a, b] = [new Matrix(this.rows, this.columns), this.data, other.data];
    for (let n = 0; n < y.data.length; n++) y.data[n] = a[n] + b[n];
    return y;
  }

  /** The matrix product, this @ other + bias: four terms at once, added in their order. */
  times(other, bias = null) {
    const y = new Matrix(this.rows, other.columns);
    const [a, b, c, inner, columns] = [this.data, other.data, y.data, this.columns, other.columns];
    for (let i = copy_rows(this, other, y, "times"); i < this.rows; i++) {
      const n = i * columns;
      let k = 0;
      for (; k + 4 <= inner; k += 4) {
        const m = i * inner + k;
        const [x0, x1, x2, x3] = [a[m], a[m + 1], a[m + 2], a[m + 3]];
        const p0 = k * columns;
        const [p1, p2, p3] = [p0 + columns, p0 + 2 * columns, p0 + 3 * columns];
        for (let j = 0; j < columns; j++)
          c[n + j] = c[n + j] + x0 * b[p0 + j] + x1 * b[p1 + j] + x2 * b[p2 + j] + x3 * b[p3 + j];
      }
      for (; k < inner; k++)
        for (let j = 0; j < columns; j++) c[n + j] += a[i * inner + k] * b[k * columns + j];
      if (bias) for (let j = 0; j < columns; j++) c[n + j] += bias[j];
    }
    return y;
  }

  /** this @ other.mT, without a copy of the other one. */
  times_mT(other) {
    const y = new Matrix(this.rows, other.rows);
    const [a, b, inner] = [this.data, other.data, this.columns];
    for (let i = copy_rows(this, other, y, "times_mT"); i < y.rows; i++)
      for (let j = 0; j < y.columns; j++) {
        let sum = 0;
        for (let k = 0; k < inner; k++) sum += a[i * inner + k] * b[j * inner + k];
        y.data[i * y.columns + j] = sum;
      }
    return y;
  }

  /** The transpose. */
  get mT() {
    return Matrix.of(this.columns, this.rows, (i, j) => this.data[j * this.columns + i]);
  }
}

/**
 * Decoding asks for the products of all tokens again, and of one more. So a parameter keeps its
 * last product y = x @ W: where x begins with the same rows, they are copied. Gives their number.
 */
function copy_rows(x, W, y, product) {
  if (!W.products) return 0;
  const last = W.products[product];
  W.products[product] = { x, y };
  if (!last) return 0;
  const [a, b] = [x.data, last.x.data];
  const most = Math.min(a.length, b.length);
  let n = 0;
  while (n < most && a[n] === b[n]) n++;
  const rows = Math.floor(n / x.columns);
  y.data.set(last.y.data.subarray(0, rows * y.columns));
  return rows;
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
  if (shape.length === 2) {
    const matrix = new Matrix(...shape, values.subarray(0, size));
    matrix.products = {};
    return matrix;
  }
  const [n, ...rest] = shape;
  return Array.from({ length: n }, (_, i) => parameter(rest, values.subarray((i * size) / n)));
}
