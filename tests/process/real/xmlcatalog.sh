#!/bin/sh
# Package: libxml2-utils 2.9.14+dfsg-1.3~deb12u6 (xmlcatalog).
# Two packages register their schemas; one packs its changelog first. xmlcatalog reads the catalog, adds an entry and writes it anew in place,
# without a lock. Bad order: both read the old catalog and one entry is lost, or one reads the emptied file.
# bad order: -P catalog.xml -e inject=openat:delay_enter=700000
set -u
work=${TMPDIR:-/tmp}/deadheat-xmlcatalog
rm -rf "$work" && mkdir -p "$work" && cd "$work" || exit 1

register() { xmlcatalog --noout --add uri "urn:$1" "file:///usr/share/xml/$1" catalog.xml; }

seq 100000 >changelog
xmlcatalog --noout --create catalog.xml
register docbook
(gzip -9n changelog && register mathml) &
first=$!
register svg
status=$?
wait $first || status=1
for schema in docbook mathml svg; do
  grep -q "urn:$schema" catalog.xml || { echo "not in the catalog: $schema" >&2; status=1; }
done
exit $status
