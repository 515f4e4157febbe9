#include "cli/animation.h"
#include "cli/byte_buffer.h"
#include "cli/memory.h"

#include <gif_lib.h>
#include <math.h>
#include <string.h>

/* ---- the palette ----------------------------------------------------------------------------- */

enum {
  BITS = 5, /* of a channel, in the histogram */
  BINS = 1 << (3 * BITS),
  COLOURS = 255, /* of the palette; the last entry means "as before" */
  UNCHANGED = 255,
  LOOKED_AT = 24 /* frames */
};

/* A bin of the histogram, with the sum of the colours in it. */
typedef struct colour_bin {
  uint32_t count;
  uint64_t sum[3];
} colour_bin;

/* Bins [first, first + count) of a list: a box of colours. */
typedef struct colour_box {
  int first, count;
  int channel;   /* in which it is longest */
  double spread; /* how much would be won by cutting it */
} colour_box;

typedef struct palette {
  colour_bin *bins;     /* [BINS] */
  int used;             /* bins that have a colour */
  int *order;           /* [used] */
  unsigned char *index; /* [BINS] palette entry of a bin */
  GifColorType colours[256];
  int count;
} palette;

static int bin_of(uint32_t pixel) {
  const int shift = 8 - BITS;
  const int red = (pixel >> 16 & 255) >> shift, green = (pixel >> 8 & 255) >> shift;
  return red << (2 * BITS) | green << BITS | (int)(pixel & 255) >> shift;
}

static int channel_of(int bin, int channel) {
  return bin >> ((2 - channel) * BITS) & ((1 << BITS) - 1);
}

static void count_colours(palette *p, const uint32_t *pixels, size_t size) {
  for (size_t i = 0; i < size; i++) {
    colour_bin *bin = &p->bins[bin_of(pixels[i])];
    bin->count++;
    for (int k = 0; k < 3; k++) bin->sum[k] += pixels[i] >> (16 - 8 * k) & 255;
  }
}

// the longest channel of a box, and what cutting there would win: variance times the root of its weight
static void measure(const palette *p, colour_box *box) {
  box->spread = 0;
  for (int channel = 0; channel < 3; channel++) {
    double weight = 0, mean = 0, square = 0;
    for (int k = box->first; k < box->first + box->count; k++) {
      // the paper must not swallow all colours
      const double w = sqrt((double)p->bins[p->order[k]].count);
      const double value = channel_of(p->order[k], channel);
      weight += w;
      mean += w * value;
      square += w * value * value;
    }
    const double variance = square - mean * mean / weight;
    if (variance > box->spread) {
      box->spread = variance;
      box->channel = channel;
    }
  }
}

// cuts the list of a box where its weight is halved
static void cut(palette *p, colour_box *box, colour_box *other) {
  double total = 0, sum = 0;
  // insertion sort by the channel: boxes are small but for the first few
  int *list = p->order + box->first;
  for (int k = 1; k < box->count; k++) {
    const int bin = list[k];
    int at = k - 1;
    for (; at >= 0 && channel_of(list[at], box->channel) > channel_of(bin, box->channel); at--)
      list[at + 1] = list[at];
    list[at + 1] = bin;
  }
  for (int k = 0; k < box->count; k++) total += sqrt((double)p->bins[list[k]].count);
  int middle = 0;
  while (middle < box->count - 1 && sum < total / 2)
    sum += sqrt((double)p->bins[list[middle++]].count);
  if (middle == 0) middle = 1;
  *other = (colour_box){.first = box->first + middle, .count = box->count - middle};
  box->count = middle;
  measure(p, box);
  measure(p, other);
}

static void name_colours(palette *p, const colour_box *boxes, int count) {
  p->count = count;
  for (int b = 0; b < count; b++) {
    double sum[3] = {0}, weight = 0;
    for (int k = boxes[b].first; k < boxes[b].first + boxes[b].count; k++) {
      const colour_bin *bin = &p->bins[p->order[k]];
      p->index[p->order[k]] = (unsigned char)b;
      weight += bin->count;
      for (int i = 0; i < 3; i++) sum[i] += (double)bin->sum[i];
    }
    p->colours[b] =
        (GifColorType){(GifByteType)lround(sum[0] / weight), (GifByteType)lround(sum[1] / weight),
                       (GifByteType)lround(sum[2] / weight)};
  }
}

// median cut: the box with most to win is cut until there are enough
static bool palette_make(palette *p) {
  colour_box boxes[COLOURS];
  p->order = allocate(BINS, sizeof(int));
  if (p->order == NULL) return false;
  for (int k = 0; k < BINS; k++)
    if (p->bins[k].count > 0) p->order[p->used++] = k;
  int count = 1;
  boxes[0] = (colour_box){.first = 0, .count = p->used};
  measure(p, &boxes[0]);
  while (count < COLOURS) {
    int widest = 0;
    for (int k = 1; k < count; k++)
      if (boxes[k].spread > boxes[widest].spread) widest = k;
    if (boxes[widest].spread <= 0 || boxes[widest].count < 2) break;
    cut(p, &boxes[widest], &boxes[count]);
    count++;
  }
  name_colours(p, boxes, count);
  return true;
}

// a colour that no frame looked at had: the nearest of the palette
static unsigned char nearest(palette *p, uint32_t pixel) {
  int best = 0, least = INT32_MAX;
  for (int k = 0; k < p->count; k++) {
    const int red = (int)(pixel >> 16 & 255) - p->colours[k].Red;
    const int green = (int)(pixel >> 8 & 255) - p->colours[k].Green;
    const int blue = (int)(pixel & 255) - p->colours[k].Blue;
    const int distance = red * red + green * green + blue * blue;
    if (distance < least) {
      least = distance;
      best = k;
    }
  }
  return (unsigned char)best;
}

static unsigned char lookup(palette *p, uint32_t pixel) {
  const int bin = bin_of(pixel);
  if (p->bins[bin].count == 0) {
    p->bins[bin].count = 1;
    p->index[bin] = nearest(p, pixel);
  }
  return p->index[bin];
}

/* ---- the file -------------------------------------------------------------------------------- */

/* A GIF that is being made. */
typedef struct gif_work {
  const animation *animation;
  palette palette;
  uint32_t *pixels;
  unsigned char *before, *now, *row;
  byte_buffer out;
  GifFileType *file;
} gif_work;

static int put_bytes(GifFileType *file, const GifByteType *bytes, int size) {
  gif_work *w = file->UserData;
  return byte_buffer_add(&w->out, bytes, (size_t)size) ? size : 0;
}

// colours of frames all along
static bool look(gif_work *w) {
  const animation *a = w->animation;
  const int looked = a->frames < LOOKED_AT ? a->frames : LOOKED_AT;
  for (int k = 0; k < looked; k++) {
    const int frame = looked > 1 ? (int)((int64_t)k * (a->frames - 1) / (looked - 1)) : 0;
    if (!a->draw(a->user, frame, w->pixels)) return false;
    count_colours(&w->palette, w->pixels, (size_t)a->width * (size_t)a->height);
  }
  return true;
}

/* The part of a frame that differs from the one before. */
typedef struct changed_part {
  int left, top, right, bottom; /* right and bottom do not belong to it */
} changed_part;

static changed_part find_changes(const gif_work *w, bool first) {
  const int width = w->animation->width, height = w->animation->height;
  changed_part c = {width, height, 0, 0};
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const size_t at = (size_t)y * (size_t)width + (size_t)x;
      if (!first && w->now[at] == w->before[at]) continue;
      c.left = x < c.left ? x : c.left;
      c.right = x + 1 > c.right ? x + 1 : c.right;
      c.top = y < c.top ? y : c.top;
      c.bottom = y + 1;
    }
  // nothing: one pixel, so that time passes
  return c.right > 0 ? c : (changed_part){0, 0, 1, 1};
}

static bool put_delay(gif_work *w, int hundredths) {
  GifByteType extension[4];
  const GraphicsControlBlock control = {.DisposalMode = DISPOSE_DO_NOT,
                                        .UserInputFlag = false,
                                        .DelayTime = hundredths,
                                        .TransparentColor = UNCHANGED};
  EGifGCBToExtension(&control, extension);
  return EGifPutExtension(w->file, GRAPHICS_EXT_FUNC_CODE, sizeof extension, extension) == GIF_OK;
}

static bool put_frame(gif_work *w, int index) {
  const animation *a = w->animation;
  const size_t size = (size_t)a->width * (size_t)a->height;
  if (!a->draw(a->user, index, w->pixels)) return false;
  for (size_t i = 0; i < size; i++) w->now[i] = lookup(&w->palette, w->pixels[i]);
  const changed_part c = find_changes(w, index == 0);
  // time that rounding lost comes back with later frames
  const int until = (int)lround(100.0 * (index + 1) / a->rate),
            from = (int)lround(100.0 * index / a->rate);
  if (!put_delay(w, until - from) || EGifPutImageDesc(w->file, c.left, c.top, c.right - c.left,
                                                      c.bottom - c.top, false, NULL) != GIF_OK)
    return false;
  for (int y = c.top; y < c.bottom; y++) {
    for (int x = c.left; x < c.right; x++) {
      const size_t at = (size_t)y * (size_t)a->width + (size_t)x;
      w->row[x - c.left] = index > 0 && w->now[at] == w->before[at] ? UNCHANGED : w->now[at];
    }
    if (EGifPutLine(w->file, w->row, c.right - c.left) != GIF_OK) return false;
  }
  unsigned char *swap = w->before;
  w->before = w->now;
  w->now = swap;
  return true;
}

static bool put_header(gif_work *w) {
  const animation *a = w->animation;
  EGifSetGifVersion(w->file, true);
  ColorMapObject *map = GifMakeMapObject(256, w->palette.colours);
  const bool begun =
      map != NULL && EGifPutScreenDesc(w->file, a->width, a->height, 8, 0, map) == GIF_OK;
  GifFreeMapObject(map);
  // repeats for ever
  const GifByteType loop[] = {1, 0, 0};
  return begun && EGifPutExtensionLeader(w->file, APPLICATION_EXT_FUNC_CODE) == GIF_OK &&
         EGifPutExtensionBlock(w->file, 11, "NETSCAPE2.0") == GIF_OK &&
         EGifPutExtensionBlock(w->file, sizeof loop, loop) == GIF_OK &&
         EGifPutExtensionTrailer(w->file) == GIF_OK;
}

static bool gif_allocate(gif_work *w) {
  const size_t size = (size_t)w->animation->width * (size_t)w->animation->height;
  w->pixels = allocate(size, sizeof(uint32_t));
  w->before = allocate(size, 1);
  w->now = allocate(size, 1);
  w->row = allocate((size_t)w->animation->width, 1);
  w->palette.bins = allocate(BINS, sizeof(colour_bin));
  w->palette.index = allocate(BINS, 1);
  return w->pixels != NULL && w->before != NULL && w->now != NULL && w->row != NULL &&
         w->palette.bins != NULL && w->palette.index != NULL;
}

static void gif_free(gif_work *w) {
  free(w->pixels);
  free(w->before);
  free(w->now);
  free(w->row);
  free(w->palette.bins);
  free(w->palette.order);
  free(w->palette.index);
  free(w->out.bytes);
}

static bool gif_make(gif_work *w) {
  if (!look(w) || !palette_make(&w->palette)) return false;
  int code = 0;
  w->file = EGifOpen(w, put_bytes, &code);
  if (w->file == NULL) return false;
  bool done = put_header(w);
  for (int k = 0; done && k < w->animation->frames; k++) done = put_frame(w, k);
  return EGifCloseFile(w->file, &code) == GIF_OK && done;
}

carom_status animation_write_gif(const animation *a, const char *path, carom_error *error) {
  gif_work w = {.animation = a};
  carom_status status = CAROM_OK;
  if (!gif_allocate(&w) || !gif_make(&w))
    status = carom_error_set(
        error, CAROM_OUT_OF_MEMORY,
        "%s: no memory for %d frames of %d x %d, or interrupted; take fewer or smaller "
        "ones",
        path, a->frames, a->width, a->height);
  if (status == CAROM_OK) status = carom_file_write(path, w.out.bytes, w.out.size, error);
  gif_free(&w);
  return status;
}
