// The interface of libtrunnion_extras.so: a table of C functions. Nothing of C++ crosses it, no function throws, and
// neither side frees what the other allocated.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TRUNNION_EXTRAS_VERSION = 1 };  // of this table; only the same number is used

// What the library may hold; a build without one of the packages leaves its part out.
typedef enum TrunnionExtrasPart {
  TRUNNION_EXTRAS_RE2,
  TRUNNION_EXTRAS_JPEG,
  TRUNNION_EXTRAS_PNG,
  TRUNNION_EXTRAS_WEBP,
  TRUNNION_EXTRAS_TIFF,
  TRUNNION_EXTRAS_JPEG2000,
  TRUNNION_EXTRAS_BMP,
  TRUNNION_EXTRAS_PNM,
  TRUNNION_EXTRAS_PARTS
} TrunnionExtrasPart;

typedef enum TrunnionExtrasResult {
  TRUNNION_EXTRAS_OK = 0,
  TRUNNION_EXTRAS_FAILED = 1,    // TrunnionExtrasError says why
  TRUNNION_EXTRAS_LEFT_OUT = 2,  // TrunnionExtrasError.part is not in this build
} TrunnionExtrasResult;

typedef struct TrunnionExtrasError {
  int32_t part;
  char text[508];
} TrunnionExtrasError;

typedef struct TrunnionRegex TrunnionRegex;  // a compiled RE2 expression; any number of threads may match with it

enum { TRUNNION_PIXELS_RGB, TRUNNION_PIXELS_BGR, TRUNNION_PIXELS_GRAY };

typedef struct TrunnionImage {
  const uint8_t* bytes;  // the file
  size_t size;
  int32_t pixels;      // TRUNNION_PIXELS_*: 3, 3 or 1 bytes a pixel, rows without gaps
  int64_t max_pixels;  // a larger image is refused before memory is taken for it
  // Called at most once, before any pixel: room for height * width pixels, or null to give up.
  uint8_t* (*place)(void* context, int64_t height, int64_t width);
  void* context;
} TrunnionImage;

typedef struct TrunnionExtras {
  uint32_t version;  // TRUNNION_EXTRAS_VERSION
  uint32_t parts;    // bit 1 << TrunnionExtrasPart is set for what is in this build

  // Null, and a text, when the pattern is no RE2 syntax. `longest`: the longest match at a place, not the first
  // alternative.
  TrunnionRegex* (*regex_compile)(const char* pattern, size_t bytes, int32_t longest, TrunnionExtrasError* error);
  void (*regex_release)(TrunnionRegex* regex);
  // Whether the pattern matches the whole text.
  int32_t (*regex_full_match)(const TrunnionRegex* regex, const char* text, size_t bytes);
  // The first match that begins at `from` or behind it. What stands before `from` counts for ^ and \b.
  int32_t (*regex_find)(const TrunnionRegex* regex, const char* text, size_t bytes, size_t from, size_t* begin,
                        size_t* end);

  // The format is told by the first bytes. After a failure the room that was placed holds anything.
  TrunnionExtrasResult (*image_decode)(const TrunnionImage* image, TrunnionExtrasError* error);
} TrunnionExtras;

// The library's one exported function.
const TrunnionExtras* trunnion_extras(void);
typedef const TrunnionExtras* (*TrunnionExtrasEntry)(void);

#ifdef __cplusplus
}
#endif
