/* Read and write the files of the test vectors (safetensors), on a little-endian machine. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { int axes, shape[4]; size_t size; double *x; } Tensor;

static char *header;                          /* of the file that is open, ends with 0 */
static unsigned char *data;
static struct { const char *name; Tensor t; } results[9];
static int count;

static void open_case(const char *folder, const char *name) {
    char path[1000];
    uint64_t n;
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file || fread(&n, 8, 1, file) != 1) { perror(path); exit(2); }
    header = calloc(n + 1, 1);
    data = malloc(1 << 20);
    if (fread(header, 1, n, file) != n || fread(data, 1, 1 << 20, file) == 0) exit(2);
    fclose(file);
}

static Tensor tensor(const char *name) {      /* x is NULL if the case has no such tensor */
    Tensor t = {0, {1, 1, 1, 1}, 1, NULL};
    char key[100];
    snprintf(key, sizeof key, "\"%s\":", name);
    char *at = strstr(header, key);
    if (!at) return t;
    char *kind = strstr(at, "\"dtype\": \"") + 10, *shape = strstr(at, "\"shape\": [") + 10;
    for (; *shape != ']'; shape += *shape == ',') {
        t.shape[t.axes] = (int)strtol(shape, &shape, 10);
        t.size *= t.shape[t.axes++];
    }
    size_t begin = strtoul(strstr(at, "\"data_offsets\": [") + 17, NULL, 10);
    t.x = malloc(t.size * sizeof(double));
    for (size_t i = 0; i < t.size; i++) {
        float single;
        if (!strncmp(kind, "F64", 3)) memcpy(&t.x[i], data + begin + 8 * i, 8);
        else if (!strncmp(kind, "F32", 3)) memcpy(&single, data + begin + 4 * i, 4), t.x[i] = single;
        else t.x[i] = data[begin + i];        /* BOOL */
    }
    return t;
}

static Tensor like(Tensor t) { t.x = calloc(t.size, sizeof(double)); return t; }
static void result(const char *name, Tensor t) { results[count].name = name; results[count++].t = t; }

static void write_case(const char *folder, const char *name) {
    char text[2000] = "{", path[1000];
    size_t offset = 0;
    for (int i = 0; i < count; i++) {
        char *end = text + strlen(text);
        end += sprintf(end, "%s\"%s\":{\"dtype\":\"F64\",\"shape\":[", i ? "," : "", results[i].name);
        for (int k = 0; k < results[i].t.axes; k++)
            end += sprintf(end, "%s%d", k ? "," : "", results[i].t.shape[k]);
        sprintf(end, "],\"data_offsets\":[%zu,%zu]}", offset, offset + 8 * results[i].t.size);
        offset += 8 * results[i].t.size;
    }
    uint64_t n = strlen(strcat(text, "}"));
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(&n, 8, 1, file) != 1 || fwrite(text, 1, n, file) != n) exit(2);
    for (int i = 0; i < count; i++) fwrite(results[i].t.x, 8, results[i].t.size, file);
    fclose(file);
    count = 0;
}
