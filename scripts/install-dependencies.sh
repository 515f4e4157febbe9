#!/usr/bin/env bash
# Installs the Debian packages that are missing; asks nothing of the network if none is.
#   scripts/install-dependencies.sh [build|test|viewer|python|format|arm64]
#     build    compiler and libraries (the default)
#     test     and what the tests need: cmocka, clang and its sanitizers, valgrind, Open MPI (whose mpirun
#              looks for ssh even where it needs none); for the viewer Node, Chromium and ffmpeg;
#              for the Python package all that it can work with
#     python   what the Python package needs to be built and used
#     viewer   Node alone, to build viewer/ anew (its result, viewer/dist, is in the repository)
#     format   clang-format alone
#     arm64    what `scripts/test.sh arm64` needs: cross compiler, qemu
# What scripts call beside these is in every Debian: bash, coreutils, findutils, diffutils, grep, sed,
# awk. scripts/fit_coverage.py, mutate.py and picture.py need python3 and are no part of `make test`.
# Runs as root or through sudo.
set -euo pipefail

build=(gcc libc6-dev make cmake pkg-config libjansson-dev libhdf5-dev libopenblas-dev
  zlib1g-dev libcairo2-dev libgif-dev)
test=(g++ clang libclang-rt-dev libomp-dev libcmocka-dev valgrind libc6-dbg binutils chromium
  fonts-dejavu-core ffmpeg libopenmpi-dev openmpi-bin openssh-client)
python=(python3 python3-dev python3-pip python3-setuptools python3-wheel python3-cffi python3-numpy)
python_test=(python3-pytest python3-torch python3-h5py python3-matplotlib python3-pandas python3-xarray
  python3-tqdm jupyter-nbconvert python3-ipykernel python3-mypy)
# a Node that is not Debian's brings its npm along
viewer=()
command -v node >/dev/null || viewer+=(nodejs)
command -v npm >/dev/null || viewer+=(npm)
case "${1:-build}" in
  build) packages=("${build[@]}") ;;
  test) packages=("${build[@]}" "${test[@]}" "${viewer[@]+"${viewer[@]}"}" "${python[@]}" "${python_test[@]}") ;;
  python) packages=("${build[@]}" "${python[@]}") ;;
  viewer) packages=("${viewer[@]+"${viewer[@]}"}") ;;
  format) packages=(clang-format) ;;
  arm64) packages=(cmake make pkg-config gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user) ;;
  *)
    echo "usage: scripts/install-dependencies.sh [build|test|viewer|python|format|arm64]" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "not a Debian system: see that it has what these packages give: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query --show --showformat='${db:Status-Status}\n' "$package" 2>/dev/null || true)
  grep -qx installed <<<"$state" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

run=(env DEBIAN_FRONTEND=noninteractive)
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "missing packages: ${missing[*]}" >&2
    echo "as root: apt-get update && apt-get install ${missing[*]}" >&2
    exit 1
  fi
  run=(sudo "${run[@]}")
fi
echo "installing ${missing[*]}" >&2
"${run[@]}" apt-get update -qq
"${run[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
