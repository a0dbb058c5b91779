# SPDX-License-Identifier: GPL-2.0-or-later
#
# Bars of base and patched for each folio size, from "report --plot".
# gnuplot -c bench/swapin.gp COLUMNS OUTPUT svg|png UNIT TITLE

if (ARG3 eq "png") {
	set terminal pngcairo size 900,540 enhanced font "sans,12" background "white"
} else {
	set terminal svg size 900,540 enhanced font "sans,14" background "white"
}
set output ARG2
set title ARG5 noenhanced
set ylabel ARG4." a page"
set xlabel "folio size"
set yrange [0:*]
set offsets 0, 0, graph 0.08, 0
set style data histogram
set style histogram clustered gap 1
set style fill solid 1.0 noborder
set boxwidth 0.9
set grid ytics linecolor "#dddddd"
set border 3 linecolor "#555555"
set tics nomirror
set format y "%.0f"
set key outside top center horizontal
plot ARG1 using 2:xtic(1) title "base" linecolor "#8c8c8c", \
     '' using 3 title "patched" linecolor "#1b6ca8", \
     '' using ($0 - 0.17):2:(sprintf("%.0f", $2)) with labels offset 0,0.7 notitle, \
     '' using ($0 + 0.17):3:(sprintf("%.0f", $3)) with labels offset 0,0.7 notitle
