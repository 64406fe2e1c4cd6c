"use strict";
// What transformer.js computes with: matrices, and a model built from the data of the page.

const CHUNK = 1 << 16; // numbers
let [chunk, used] = [new ArrayBuffer(8 * CHUNK), 0];

/** So many zeros. Small arrays share a chunk of memory: to ask for each of them takes longer. */
function zeros(n) {
  if (n > CHUNK / 16) return new Float64Array(n);
  if (used + n > CHUNK) [chunk, used] = [new ArrayBuffer(8 * CHUNK), 0];
  used += n;
  return new Float64Array(chunk, 8 * (used - n), n);
}

/** A matrix (rows, columns), its numbers row by row. */
class Matrix {
  constructor(rows, columns, data = zeros(rows * columns)) {
    this.rows = rows;
    this.columns = columns;
    this.data = data;
    this.grad = null; // a parameter that learns has one
  }

  static of(rows, columns, number) {
    const y = new Matrix(rows, columns);
    for (let i = 0, n = 0; i < rows; i++)
      for (let j = 0; j < columns; j++) y.data[n] = number(i, j, n++);
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

  plus(...others) {
    const y = new Matrix(this.rows, this.columns, this.data.slice());
    for (const other of others) add_to(y.data, other.data);
    return y;
  }

  /** The rows of this matrix, and below them those of another. */
  above(other) {
    const y = new Matrix(this.rows + other.rows, this.columns);
    y.data.set(this.data);
    y.data.set(other.data, this.data.length);
    return y;
  }

  column_sums() {
    const y = new Float64Array(this.columns);
    for (let i = 0; i < this.rows; i++) add_to(y, this.row(i));
    return y;
  }

  /** The matrix product, this @ other + bias: four terms at once, added in their order. */
  times(other, bias = null) {
    const y = new Matrix(this.rows, other.columns);
    const [a, b, c, inner, columns] = [this.data, other.data, y.data, this.columns, other.columns];
    for (let i = 0; i < this.rows; i++) {
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

  /** this @ other.mT, without a copy of the other one: four rows of it at once. */
  times_mT(other) {
    const y = new Matrix(this.rows, other.rows);
    const [a, b, c, inner, columns] = [this.data, other.data, y.data, this.columns, other.rows];
    for (let i = 0; i < this.rows; i++) {
      const m = i * inner;
      let j = 0;
      for (; j + 4 <= columns; j += 4) {
        let [s0, s1, s2, s3] = [0, 0, 0, 0];
        const [p0, p1, p2, p3] = [j * inner, (j + 1) * inner, (j + 2) * inner, (j + 3) * inner];
        for (let k = 0; k < inner; k++) {
          const x = a[m + k];
          s0 += x * b[p0 + k];
          s1 += x * b[p1 + k];
          s2 += x * b[p2 + k];
          s3 += x * b[p3 + k];
        }
        const n = i * columns + j;
        [c[n], c[n + 1], c[n + 2], c[n + 3]] = [s0, s1, s2, s3];
      }
      for (; j < columns; j++) {
        let total = 0;
        for (let k = 0; k < inner; k++) total += a[m + k] * b[j * inner + k];
        c[i * columns + j] = total;
      }
    }
    return y;
  }

  /** y + this.mT @ other, without a copy of this one; y is changed, zeros if it is not given. */
  mT_times(other, y = new Matrix(this.columns, other.columns)) {
    const [a, b, c, inner, columns] = [this.data, other.data, y.data, this.columns, other.columns];
    let i = 0;
    for (; i + 2 <= this.rows; i += 2)
      for (let k = 0; k < inner; k++) {
        const [x0, x1] = [a[i * inner + k], a[(i + 1) * inner + k]];
        const [n, p0, p1] = [k * columns, i * columns, (i + 1) * columns];
        for (let j = 0; j < columns; j++) c[n + j] += x0 * b[p0 + j] + x1 * b[p1 + j];
      }
    for (; i < this.rows; i++)
      for (let k = 0; k < inner; k++) {
        const [x, n, p] = [a[i * inner + k], k * columns, i * columns];
        for (let j = 0; j < columns; j++) c[n + j] += x * b[p + j];
      }
    return y;
  }
}

function sum(list) {
  let total = 0;
  for (let n = 0; n < list.length; n++) total += list[n];
  return total;
}

function dot(a, b) {
  let total = 0;
  for (let n = 0; n < a.length; n++) total += a[n] * b[n];
  return total;
}

/** a += factor * b, in place */
function add_to(a, b, factor = 1) {
  for (let n = 0; n < a.length; n++) a[n] += factor * b[n];
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

/**
 * The layer that a node {class, ...parts} describes; {shape, at} is a parameter among `values`. A
 * model that learns has `grads`, as many numbers as values.
 */
function build(node, values, grads = null) {
  if (Array.isArray(node)) return node.map((child) => build(child, values, grads));
  if (node === null || typeof node !== "object") return node;
  if (node.shape) {
    const made = parameter(node.shape, values.subarray(node.at));
    if (grads) made.grad = parameter(node.shape, grads.subarray(node.at));
    return made;
  }
  const entries = Object.entries(node).map(([name, one]) => [name, build(one, values, grads)]);
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
