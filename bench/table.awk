# SPDX-License-Identifier: GPL-2.0-or-later
#
# The medians of measurements, with their spread, for kernels side by side.
#
# Each line is "PART, FIGURE, LABEL, VALUE", with tabs between. Parts are printed in
# the order in which they come, figures in that of the variable figures, which is
# "FIGURE=TITLE,...", and labels in that of the variable labels, words, each but the
# first with the ratio to the first.

BEGIN {
	FS = "\t"
	nr_labels = split(labels, label, " ")
	nr_figures = split(figures, figure, ",")
	for (i = 1; i <= nr_figures; i++) {
		at = index(figure[i], "=")
		title[i] = substr(figure[i], at + 1)
		figure[i] = substr(figure[i], 1, at - 1)
	}
}

# Each list of values is kept in order.
{
	if (!($1 in seen)) {
		seen[$1] = 1
		part[++nr_parts] = $1
	}
	i = ++n[$1, $2, $3]
	for (; i > 1 && v[$1, $2, $3, i - 1] > $4 + 0; i--)
		v[$1, $2, $3, i] = v[$1, $2, $3, i - 1]
	v[$1, $2, $3, i] = $4 + 0
}

function median(p, f, l,   c) {
	c = n[p, f, l]
	return c % 2 ? v[p, f, l, (c + 1) / 2] : (v[p, f, l, c / 2] + v[p, f, l, c / 2 + 1]) / 2
}

# A median and its spread: 19 characters.
function cell(p, f, l,   m, spread) {
	if (!n[p, f, l])
		return sprintf("%11s %7s", "-", "")
	m = median(p, f, l)
	spread = m ? 100 * (v[p, f, l, n[p, f, l]] - v[p, f, l, 1]) / m : 0
	return sprintf(m < 1000 ? "%11.1f (%5.1f)" : "%11.0f (%5.1f)", m, spread)
}

END {
	for (i = 1; i <= nr_parts; i++) {
		p = part[i]
		printf "\n%-24s %19s", p, label[1]
		for (j = 2; j <= nr_labels; j++)
			printf " %19s %7s", label[j], "ratio"
		print ""
		for (k = 1; k <= nr_figures; k++) {
			f = figure[k]
			any = 0
			for (j = 1; j <= nr_labels; j++)
				any += n[p, f, label[j]]
			if (!any)
				continue
			printf "%-24s %s", title[k], cell(p, f, label[1])
			first = n[p, f, label[1]] ? median(p, f, label[1]) : 0
			for (j = 2; j <= nr_labels; j++)
				printf " %s %7s", cell(p, f, label[j]), first && n[p, f, label[j]] ? sprintf("%.3f", median(p, f, label[j]) / first) : "-"
			print ""
		}
	}
}
