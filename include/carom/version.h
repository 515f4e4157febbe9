/* Which carom this is, at compile time and at run time; marks of public functions. */
#ifndef CAROM_PUBLIC_VERSION_H
#define CAROM_PUBLIC_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

#define CAROM_VERSION_MAJOR 0
#define CAROM_VERSION_MINOR 1
#define CAROM_VERSION_PATCH 0
#define CAROM_VERSION "0.1.0"

/* As one number, to compare: a program runs with a library that keeps the interface of its header if
 * carom_version_number() / 100 == CAROM_VERSION_NUMBER / 100. */
#define CAROM_VERSION_NUMBER \
  (CAROM_VERSION_MAJOR * 10000 + CAROM_VERSION_MINOR * 100 + CAROM_VERSION_PATCH)

#if defined(__GNUC__)
#define CAROM_API __attribute__((visibility("default")))
#define CAROM_FORMAT(text, first) __attribute__((format(printf, text, first)))
#else
#define CAROM_API
#define CAROM_FORMAT(text, first)
#endif

/* The version of the library that is linked, "major.minor.patch", and as CAROM_VERSION_NUMBER. */
CAROM_API const char *carom_version(void);
CAROM_API int carom_version_number(void);

#ifdef __cplusplus
}
#endif
#endif
