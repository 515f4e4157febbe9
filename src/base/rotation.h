/* Rotations: matrices [dimension][dimension], row-major, whose columns are the axes of a body, and what turns one set of axes
 * into another. */
#ifndef CAROM_BASE_ROTATION_H
#define CAROM_BASE_ROTATION_H

/* By an angle in the plane, a vector (axis times angle), a unit quaternion (w, x, y, z), ZXZ Euler angles. */
void rotation_from_angle(double angle, double *rotation);
void rotation_from_vector(const double *vector, double *rotation);
void rotation_from_quaternion(const double *q, double *rotation);
void rotation_from_euler(double phi, double theta, double psi, double *rotation);

/* The turn from the axes of the points y to those of x, both [d + 1][d]: a centre and tips at unit distance. As an angle (2D),
 * or a vector. */
void rotation_between(int d, const double *x, const double *y, double *phi);

#endif
