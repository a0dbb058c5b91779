#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# report on records that "make demo" left, and on spoilt copies of them.
# shellcheck disable=SC2154 # tap.sh sets tmp
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=bench/tests/tap.sh
. "$here/tap.sh"

report=${BUILD:-$here/../../build}/bench/host/report
base=$here/data/base.jsonl
patched=$here/data/patched.jsonl

# shellcheck disable=SC2317 # all functions are called by name through run
table() {
	expect_status 0 "$report" "$base" "$patched" &&
		diff -u "$here/data/table.txt" "$tmp/out"
}

fits_80_columns() {
	expect_status 0 "$report" "$base" "$patched" || return
	if awk 'length > 80' "$tmp/out" | grep .; then return 1; fi
}

# 1 GiB has the longest numbers that are common.
fits_80_columns_at_1_gib() {
	for side in base patched; do
		sed 's/"faults_minor": [0-9]*/"faults_minor": 229376/
			s/"folios_in": [0-9]*/"folios_in": 262144/
			s/"pages_in": [0-9]*/"pages_in": 262144/
			s/"size_mib": 128/"size_mib": 1024/' \
			"$here/data/$side.jsonl" >"$tmp/$side.jsonl"
	done
	expect_status 0 "$report" "$tmp/base.jsonl" "$tmp/patched.jsonl" || return
	expect_text "$tmp/out" 262,144 || return
	if awk 'length > 80' "$tmp/out" | grep .; then return 1; fi
}

files() {
	expect_status 0 "$report" --json "$tmp/t.json" --plot "$tmp/t.tsv" \
		"$base" "$patched" || return
	diff -u "$here/data/table.json" "$tmp/t.json" &&
		diff -u "$here/data/table.tsv" "$tmp/t.tsv"
}

wrong_bytes() {
	sed '2s/"wrong_bytes": 0/"wrong_bytes": 12/' "$patched" >"$tmp/p"
	expect_status 1 "$report" "$base" "$tmp/p" &&
		expect_text "$tmp/out" 'patched: WRONG CONTENTS: 12 bytes'
}

pages_on_the_disk() {
	sed '1s/"disk_pages": 0/"disk_pages": 1234/
		2s/"resident_pages": 0/"resident_pages": 5/' "$base" >"$tmp/b"
	expect_status 0 "$report" "$tmp/b" "$patched" &&
		expect_text "$tmp/out" '1,234 pages went to the disk, 5 stayed'
}

not_json() {
	{ cat "$base"; echo 'Segmentation fault'; } >"$tmp/b"
	expect_status 2 "$report" "$tmp/b" "$patched" &&
		expect_text "$tmp/err" "$tmp/b:11: expected one JSON object a line"
}

cut_off() {
	head -c 700 "$base" >"$tmp/b"
	expect_status 2 "$report" "$tmp/b" "$patched" &&
		expect_text "$tmp/err" "$tmp/b:1: expected one JSON object a line"
}

field_missing() {
	sed '3s/"faults_major"/"majors"/' "$patched" >"$tmp/p"
	expect_status 2 "$report" "$base" "$tmp/p" &&
		expect_text "$tmp/err" "$tmp/p:3: field 'faults_major': expected a number"
}

other_schema() {
	sed 's/"schema": 1/"schema": 2/' "$base" >"$tmp/b"
	expect_status 2 "$report" "$tmp/b" "$patched" &&
		expect_text "$tmp/err" "$tmp/b:1: field 'schema': expected 1"
}

not_comparable() {
	sed 's/"accelerator": "tcg+icount"/"accelerator": "kvm"/' "$patched" >"$tmp/p"
	expect_status 2 "$report" "$base" "$tmp/p" &&
		expect_text "$tmp/err" "field 'accelerator' is \"kvm\", but \"tcg+icount\""
}

size_missing() {
	grep -v '"folio": "64K"' "$patched" >"$tmp/p"
	expect_status 2 "$report" "$base" "$tmp/p" &&
		expect_text "$tmp/err" "$tmp/p: no record of folio size 64K"
}

no_file() {
	expect_status 2 "$report" "$tmp/absent" "$patched" &&
		expect_text "$tmp/err" "$tmp/absent: No such file" &&
		: >"$tmp/empty" &&
		expect_status 2 "$report" "$base" "$tmp/empty" &&
		expect_text "$tmp/err" "$tmp/empty: no record"
}

usage() {
	expect_status 0 "$report" --help && expect_text "$tmp/out" 'Exit status' &&
		expect_status 2 "$report" "$base" &&
		expect_status 2 "$report" --colour "$base" "$patched"
}

cannot_write() {
	expect_status 2 "$report" --json "$tmp/no/dir" "$base" "$patched" &&
		expect_text "$tmp/err" "$tmp/no/dir: cannot write"
}

run table 'the table of captured records'
run fits_80_columns 'it fits 80 columns'
run fits_80_columns_at_1_gib 'it fits 80 columns at 1 GiB'
run files 'JSON and plot columns'
run wrong_bytes 'wrong bytes are shown and end it with 1'
run pages_on_the_disk 'pages that did not come from zswap are shown'
run not_json 'a line that is no JSON is named'
run cut_off 'a record that was cut off is named'
run field_missing 'a missing field is named'
run other_schema 'another schema is refused'
run not_comparable 'records of different machines are not compared'
run size_missing 'a folio size that one side lacks is named'
run no_file 'a missing and an empty file are named'
run usage 'usage'
run cannot_write 'a file that cannot be written is named'
finish
