#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The metrics as a Prometheus takes them, the alerts and the dashboard: what they
# name exists, each alert fires on what it is for, and each panel gets numbers.
# shellcheck disable=SC2154 # lib.sh sets tmp and status, machine.sh root and cg
# shellcheck disable=SC2013 # what is looped over has no blanks
# shellcheck source=selftests/tests/lib.sh
. selftests/tests/lib.sh
# shellcheck source=daemon/tests/machine.sh
. daemon/tests/machine.sh

rules=daemon/prometheus/zfolio.rules.yaml
dashboard=daemon/grafana/zfolio.json

machine
cgroup 'odd"name\with'
# It answers who runs this.
sed -i "s/^rescan/group = $(id -g)\n&/" "$root/etc/zfolio.conf"
# shellcheck disable=SC2119 # no option
start
# A tick has been when the configured value is there.
within_5s is "$cg/a.slice/x.service/memory.zswap.writeback" 0
run build/zfolioctl --root "$root" metrics --output "$tmp/zfolio.prom"
check "there are metrics" [ "$status" = 0 ]

# dashboard PROGRAM: of Python, on the dashboard and its panels, names, the metrics
# that there are, and text, all of dashboard and alerts
# shellcheck disable=SC2317 # called by name, through check
dashboard() {
	run python3 -c "import json, re, sys
dashboard = json.load(open(sys.argv[1]))
panels = dashboard['panels']
names = set(re.findall(r'^(zfolio\w+)', open(sys.argv[2]).read(), re.M))
text = json.dumps(dashboard) + open(sys.argv[3]).read()
$1" "$dashboard" "$tmp/zfolio.prom" "$rules"
	return "$status"
}

check "the dashboard is JSON" dashboard 'assert dashboard["title"] == "zfolio"'
check "... whose panels have numbers of their own" dashboard 'assert len({p["id"] for p in panels}) == len(panels) > 10'
check "... and do not overlap" dashboard '
taken = set()
for p in panels:
    g = p["gridPos"]
    cells = {(x, y) for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])}
    assert g["x"] + g["w"] <= 24 and not cells & taken, p["title"]
    taken |= cells'
check "... and say what they show" dashboard 'assert all(p["title"] and p["description"] for p in panels)'
check "... with variables that there are" dashboard '
known = {v["name"] for v in dashboard["templating"]["list"]} | {"__rate_interval"}
used = set(re.findall(r"\$\{?(\w+)", json.dumps(panels)))
assert used == known, used ^ known'
check "every metric that dashboard and alerts name exists" dashboard '
named = set(re.findall(r"\bzfolio_\w+", text))
assert len(named) > 12 and named <= names, named - names'
check "... and of others only one of node_exporter" dashboard '
assert set(re.findall(r"\bnode_\w+", text)) == {"node_textfile_mtime_seconds"}'

# --- promtool ---

# Where Debian's package is not installed its programs come from a copy beside the
# kernels, so that no server starts by itself on somebody's machine.
cache=${ZFOLIO_CACHE:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/zfolio}/prometheus
# shellcheck disable=SC2317 # called by name, through run
fetch() {
	mkdir -p "${cache%/*}" "$tmp/deb" &&
		(cd "$tmp/deb" && timeout 180 apt-get -q download prometheus) &&
		new=$(mktemp -d "$cache.XXXXXX") &&
		dpkg-deb -x "$tmp"/deb/prometheus_*.deb "$new" &&
		{ mv -T "$new" "$cache" || rm -rf "$new"; }
}
if ! command -v promtool >/dev/null || ! command -v prometheus >/dev/null; then
	[ -x "$cache/usr/bin/promtool" ] || run fetch
	PATH=$cache/usr/bin:$PATH
fi
if ! command -v promtool >/dev/null; then
	skip "promtool, and a scrape" "needs Debian's prometheus: $(tail -n 1 "$tmp/err")"
	stop
	finish
fi

run sh -c 'promtool check metrics <"$1"' sh "$tmp/zfolio.prom"
check "promtool has nothing to say of the metrics" [ "$status" = 0 ]
run promtool check rules "$rules"
check "... nor of the alerts" [ "$status" = 0 ]
run promtool test rules daemon/tests/data/alerts.yaml
check "each alert fires when it should, and only then" [ "$status" = 0 ]
for alert in $(sed -n 's/^ *- alert: //p' "$rules"); do
	check "... $alert too" [ "$(grep -cw "alertname: $alert" daemon/tests/data/alerts.yaml)" = 2 ]
done

# --- a scrape ---

# An exporter that asks the tool each time, and a Prometheus that asks the exporter.
cat >"$tmp/scrape.py" <<'END'
import http.server, json, re, socket, subprocess, sys, threading, time
import urllib.error, urllib.parse, urllib.request
dashboard, rules, tmp, root = sys.argv[1:]

class Exporter(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = subprocess.run(["build/zfolioctl", "--root", root, "metrics"],
                              stdout=subprocess.PIPE, check=True).stdout
        self.send_response(200)
        self.send_header("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *args):
        pass

exporter = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
threading.Thread(target=exporter.serve_forever, daemon=True).start()
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    address = "127.0.0.1:%d" % s.getsockname()[1]
with open(tmp + "/prometheus.yaml", "w") as f:
    f.write(f"""
global: {{ scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 2s }}
rule_files: [ "{rules}" ]
scrape_configs:
  - job_name: zfolio
    static_configs:
      - {{ targets: [ "127.0.0.1:{exporter.server_port}" ], labels: {{ instance: here }} }}
""")
prometheus = subprocess.Popen(["prometheus", "--config.file", tmp + "/prometheus.yaml",
                               "--storage.tsdb.path", tmp + "/tsdb", "--web.listen-address", address],
                              stderr=open(tmp + "/prometheus.log", "w"))

def ask(path, **query):
    url = f"http://{address}/api/v1/{path}?" + urllib.parse.urlencode(query)
    try:
        return json.load(urllib.request.urlopen(url))["data"]
    except urllib.error.HTTPError as e:
        if e.code == 503:
            raise urllib.error.URLError("starting")
        sys.exit(f"{query}: {e.read().decode()}")

def values(expression):
    return [s["value"][1] for s in ask("query", query=expression)["result"]]

try:
    # Rates need some scrapes, of which a busy machine may miss others, and the
    # alerts an evaluation.
    for _ in range(900):
        time.sleep(0.2)
        if prometheus.poll() is not None:
            sys.exit(open(tmp + "/prometheus.log").read())
        try:
            scraped = values("sum_over_time(up[1m]) >= 3 and up == 1")
            health = [rule["health"] for group in ask("rules")["groups"] for rule in group["rules"]]
        except urllib.error.URLError:
            continue
        if scraped and "unknown" not in health:
            break
    else:
        sys.exit("no three scrapes in a minute")
    assert health == ["ok"] * 6, health
    assert values("zfolio_daemon_up") == ["1"]
    assert values('zfolio_cgroup_zswap_bytes{cgroup="odd\\"name\\\\with"}') == ["10485760"]
    families = ask("metadata")
    families = {name: entry[0] for name, entry in families.items() if name.startswith("zfolio_")}
    assert len(families) == 24, sorted(families)
    for name, entry in families.items():
        counts = re.search(r"_pages$|_pgmajfault$|_seconds$|_written_bytes$", name)
        assert entry["help"] and entry["type"] == ("counter" if counts else "gauge"), (name, entry)
    for panel in json.load(open(dashboard))["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$instance", "here").replace("$cgroup", ".*")
            expression = expression.replace("$__rate_interval", "1m")
            assert values(expression), (panel["title"], expression)
finally:
    prometheus.terminate()
    prometheus.wait()
END
run python3 "$tmp/scrape.py" "$dashboard" "$PWD/$rules" "$tmp" "$root"
check "Prometheus scrapes it, evaluates the alerts and has numbers for each panel" [ "$status" = 0 ]
stop

finish
