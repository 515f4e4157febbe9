#include "base/rotation.h"

#include <math.h>
#include <string.h>

#include "base/vector.h"

void rotation_from_angle(double angle, double *rotation) {
  double c = cos(angle), s = sin(angle);
  rotation[0] = c, rotation[1] = -s;
  rotation[2] = s, rotation[3] = c;
}

void rotation_from_quaternion(const double *q, double *rotation) {
  double w = q[0], x = q[1], y = q[2], z = q[3];
  const double matrix[9] = {
      1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
      2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
      2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
  memcpy(rotation, matrix, sizeof matrix);
}

/* q = (cos(phi / 2), sin(phi / 2) axis), phi = |vector| */
void rotation_from_vector(const double *vector, double *rotation) {
  double angle = hypot(hypot(vector[0], vector[1]), vector[2]);
  double scale = angle > 0 ? sin(angle / 2) / angle : 0;
  const double quaternion[4] = {cos(angle / 2), scale * vector[0], scale * vector[1],
                                scale * vector[2]};
  rotation_from_quaternion(quaternion, rotation);
}

// R = Rz(phi) Rx(theta) Rz(psi)
void rotation_from_euler(double phi, double theta, double psi, double *rotation) {
  double cf = cos(phi), sf = sin(phi), ct = cos(theta), st = sin(theta);
  double cp = cos(psi), sp = sin(psi);
  const double matrix[9] = {cf * cp - sf * ct * sp,
                            -cf * sp - sf * ct * cp,
                            sf * st,
                            sf * cp + cf * ct * sp,
                            -sf * sp + cf * ct * cp,
                            -cf * st,
                            st * sp,
                            st * cp,
                            ct};
  memcpy(rotation, matrix, sizeof matrix);
}

/* sin(angle) n = 1/2 sum y_k x x_k over the axes, 1 + 2 cos(angle) = sum y_k . x_k (3D), 2 cos(angle) (2D). */
void rotation_between(int d, const double *x, const double *y, double *phi) {
  double trace = 0, sine[3] = {0, 0, 0};
  for (int k = 1; k <= d; k++) {
    double a[3] = {0, 0, 0}, b[3] = {0, 0, 0}, c[3];
    for (int i = 0; i < d; i++) {
      a[i] = x[k * d + i] - x[i];
      b[i] = y[k * d + i] - y[i];
    }
    trace += vector_dot_small(a, b, d);
    vector_cross(b, a, c);
    for (int i = 0; i < 3; i++) sine[i] += 0.5 * c[i];
  }
  if (d == 2) {
    phi[0] = atan2(sine[2], 0.5 * trace);
    return;
  }
  double size = sqrt(vector_dot_small(sine, sine, 3)), angle = atan2(size, 0.5 * (trace - 1));
  double factor = size > 1e-12 ? angle / size : 1;
  for (int i = 0; i < 3; i++) phi[i] = factor * sine[i];
}
