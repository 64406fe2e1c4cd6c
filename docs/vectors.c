/* Softmax, attention and layer norm with their backwards, to be held against the test vectors:

   aiayn-np vectors right
   cc -O1 -o vectors docs/vectors.c -lm && mkdir mine && ./vectors right mine
   aiayn-np vectors right --compare mine                                                          */

#include <math.h>
#include "vectors.h"

static void softmax(const double *s, double *w, int n) {      /* only -inf: all weights are 0 */
    double highest = -INFINITY, total = 0;
    for (int j = 0; j < n; j++) highest = fmax(highest, s[j]);
    for (int j = 0; j < n; j++) total += w[j] = s[j] == -INFINITY ? 0 : exp(s[j] - highest);
    for (int j = 0; j < n; j++) w[j] /= total > 0 ? total : 1;
}

static void softmax_backward(const double *w, const double *grad_w, double *grad_s, int n) {
    double mean = 0;
    for (int j = 0; j < n; j++) mean += w[j] * grad_w[j];
    for (int j = 0; j < n; j++) grad_s[j] = w[j] * (grad_w[j] - mean);
}

static void softmax_case(void) {
    Tensor s = tensor("input.scores"), g = tensor("upstream.weights"), w = like(s), grad = like(s);
    int n = s.shape[s.axes - 1];
    for (size_t i = 0; i < s.size; i += n) softmax(s.x + i, w.x + i, n);
    for (size_t i = 0; i < s.size; i += n) softmax_backward(w.x + i, g.x + i, grad.x + i, n);
    result("output.weights", w); result("grad.scores", grad);
}

static void attention_case(void) {
    Tensor Q = tensor("input.Q"), K = tensor("input.K"), V = tensor("input.V");
    Tensor g = tensor("upstream.out"), allowed = tensor("input.allowed"), out = like(g), w = like(g);
    Tensor grad_Q = like(Q), grad_K = like(K), grad_V = like(V);
    int *shape = Q.shape + Q.axes - 2, T_q = shape[0], d_k = shape[1], T_k = K.shape[Q.axes - 2];
    int d_v = V.shape[Q.axes - 1];
    double root = sqrt(d_k), s[99], grad_w[99], grad_s[99];
    w.shape[Q.axes - 1] = T_k;
    w.size = out.size / d_v * T_k;
    w = like(w);
    for (size_t row = 0; row < w.size / T_k; row++) {          /* a query of a sequence */
        size_t key = row / T_q * T_k, mask = allowed.size == (size_t)T_q * T_k ? row % T_q : row;
        double *q = Q.x + row * d_k, *weight = w.x + row * T_k, *up = g.x + row * d_v;
        for (int j = 0; j < T_k; j++) {
            s[j] = 0;
            for (int k = 0; k < d_k; k++) s[j] += q[k] * K.x[(key + j) * d_k + k] / root;
            if (allowed.x && !allowed.x[mask * T_k + j]) s[j] = -INFINITY;
        }
        softmax(s, weight, T_k);
        memset(grad_w, 0, sizeof grad_w);
        for (int j = 0; j < T_k; j++) for (int v = 0; v < d_v; v++) {
            out.x[row * d_v + v] += weight[j] * V.x[(key + j) * d_v + v];
            grad_w[j] += up[v] * V.x[(key + j) * d_v + v];
            grad_V.x[(key + j) * d_v + v] += weight[j] * up[v];
        }
        softmax_backward(weight, grad_w, grad_s, T_k);
        for (int j = 0; j < T_k; j++) for (int k = 0; k < d_k; k++) {
            grad_Q.x[row * d_k + k] += grad_s[j] * K.x[(key + j) * d_k + k] / root;
            grad_K.x[(key + j) * d_k + k] += grad_s[j] * q[k] / root;
        }
    }
    result("output.out", out); result("output.weights", w);
    result("grad.Q", grad_Q); result("grad.K", grad_K); result("grad.V", grad_V);
}

static void layer_norm_case(double eps) {
    Tensor x = tensor("input.x"), g = tensor("upstream.y"), y = like(x), grad = like(x);
    Tensor gamma = tensor("parameter.gamma"), beta = tensor("parameter.beta");
    Tensor grad_gamma = like(gamma), grad_beta = like(beta);
    int d = (int)gamma.size;
    for (size_t i = 0; i < x.size; i += d) {
        double mean = 0, variance = 0, mean_g = 0, mean_gn = 0;
        for (int k = 0; k < d; k++) mean += x.x[i + k] / d;
        for (int k = 0; k < d; k++) variance += pow(x.x[i + k] - mean, 2) / d;
        double root = sqrt(variance + eps);
        for (int k = 0; k < d; k++) {
            double n = (x.x[i + k] - mean) / root;
            y.x[i + k] = gamma.x[k] * n + beta.x[k];
            grad_gamma.x[k] += g.x[i + k] * n, grad_beta.x[k] += g.x[i + k];
            mean_g += g.x[i + k] * gamma.x[k] / d, mean_gn += g.x[i + k] * gamma.x[k] * n / d;
            grad.x[i + k] = n;
        }
        for (int k = 0; k < d; k++)
            grad.x[i + k] = (g.x[i + k] * gamma.x[k] - mean_g - grad.x[i + k] * mean_gn) / root;
    }
    result("output.y", y); result("grad.x", grad);
    result("grad.gamma", grad_gamma); result("grad.beta", grad_beta);
}

int main(int argc, char **argv) {
    const double eps[] = {1e-6, 1 / 1024., 1e-6, 0.125, 1e-6};     /* as in manifest.json */
    const char *names[] = {"softmax", "scaled_dot_product_attention", "layer_norm"};
    const int cases[] = {5, 8, 5};
    if (argc != 3) return fprintf(stderr, "%s RIGHT MINE\n", argv[0]), 2;
    for (int c = 0; c < 3; c++) for (int i = 1; i <= cases[c]; i++) {
        char name[100];
        snprintf(name, sizeof name, "%s_%02d", names[c], i);
        open_case(argv[1], name);
        if (tensor("input.dropout.kept").x) continue;              /* no dropout here */
        c == 0 ? softmax_case() : c == 1 ? attention_case() : layer_norm_case(eps[i - 1]);
        write_case(argv[2], name);
    }
    return 0;
}
