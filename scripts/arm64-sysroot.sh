#!/usr/bin/env bash
# Puts the arm64 libraries that carom is built from into a folder of their own, out of Debian's packages,
# for the cross compiler and qemu; the machine's own packages stay as they are.
#   scripts/arm64-sysroot.sh FOLDER
set -euo pipefail
folder=$(realpath -m "${1:?usage: scripts/arm64-sysroot.sh FOLDER}")
[ -e "$folder/complete" ] && exit 0
wanted=(libc6-dev libjansson-dev libhdf5-dev libopenblas-pthread-dev zlib1g-dev libcairo2-dev libgif-dev
  libcmocka-dev libgomp1)

# an apt of its own, which has nothing installed and knows arm64 alone
apt=$folder/apt
mkdir -p "$apt"/{state/lists/partial,cache/archives/partial,etc/preferences.d,etc/apt.conf.d}
: >"$apt/status"
options=(-qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o "Dir::State=$apt/state"
  -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache" -o "Dir::Etc::parts=$apt/etc/apt.conf.d"
  -o "Dir::Etc::preferencesparts=$apt/etc/preferences.d" -o APT::Install-Recommends=false
  -o Debug::NoLocking=true -o APT::Sandbox::User=root)
apt-get "${options[@]}" update
apt-get "${options[@]}" --download-only -y install "${wanted[@]}"
for package in "$apt"/cache/archives/*.deb; do
  dpkg-deb --extract "$package" "$folder"
done
rm -rf "$apt"

# what update-alternatives would have made, and links that lead out of the folder
libraries=$folder/usr/lib/aarch64-linux-gnu
for name in "$libraries"/openblas-pthread/*; do
  case "$name" in
    *.so | *.so.* | *.a) ln -sf "openblas-pthread/$(basename "$name")" "$libraries/" ;;
  esac
done
ln -sf ../openblas-pthread/pkgconfig/openblas.pc "$libraries/pkgconfig/openblas.pc"
find "$folder" -type l -lname '/*' | while read -r link; do
  ln -sfn "$folder$(readlink "$link")" "$link"
done
touch "$folder/complete"
