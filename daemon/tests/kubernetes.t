#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The DaemonSet asks for what zfoliod needs and nothing else, and what it has as
# configuration is one. Whether a cluster takes it is not tried here; that zfoliod
# is content with so little is.
# shellcheck disable=SC2154 # lib.sh sets tmp and status, machine.sh root and cg
# shellcheck source=selftests/tests/lib.sh
. selftests/tests/lib.sh
# shellcheck source=daemon/tests/machine.sh
. daemon/tests/machine.sh

manifest=daemon/kubernetes/daemonset.yaml
version=$(sed -n '1s/.*(\(.*\)).*/\1/p' daemon/debian/changelog)

# Debian's modules are for Debian's Python.
if ! /usr/bin/python3 -c 'import yaml' 2>/dev/null; then
	echo '1..0 # SKIP needs python3-yaml: kernel-patches/deps test'
	exit 0
fi

# manifest PROGRAM: of Python, on config, daemonset, its pod and container
# shellcheck disable=SC2317 # called by name, through check
manifest() {
	run /usr/bin/python3 -c "import sys, yaml
config, daemonset = yaml.safe_load_all(open(sys.argv[1]))
pod = daemonset['spec']['template']['spec']
container, = pod['containers']
$1" "$manifest"
	return "$status"
}

check "two objects" manifest '
assert (config["apiVersion"], config["kind"]) == ("v1", "ConfigMap")
assert (daemonset["apiVersion"], daemonset["kind"]) == ("apps/v1", "DaemonSet")
assert config["metadata"]["namespace"] == daemonset["metadata"]["namespace"]'
check "the selector finds the pods" manifest '
labels = daemonset["spec"]["template"]["metadata"]["labels"]
wanted = daemonset["spec"]["selector"]["matchLabels"]
assert wanted and wanted.items() <= labels.items()'
check "no namespace of the node" manifest '
assert not {"hostPID", "hostNetwork", "hostIPC", "initContainers"} & set(pod)'
check "no right beyond root" manifest '
assert container["securityContext"] == {
    "runAsUser": 0, "runAsGroup": 0, "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"}}
assert pod["automountServiceAccountToken"] is False'
check "two directories of the node, and no other" manifest '
paths = [v["hostPath"]["path"] for v in pod["volumes"] if "hostPath" in v]
assert sorted(paths) == ["/run/zfolio", "/sys/fs/cgroup"]'
check "... mounted where zfoliod looks for them" manifest '
mounts = {m["name"]: m["mountPath"] for m in container["volumeMounts"]}
assert len(mounts) == len(pod["volumes"])
for volume in pod["volumes"]:
    path = volume["hostPath"]["path"] if "hostPath" in volume else "/etc/zfolio.conf.d"
    assert mounts[volume["name"]] == path'
check "the configuration is that of the ConfigMap" manifest '
names = [v["configMap"]["name"] for v in pod["volumes"] if "configMap" in v]
assert names == [config["metadata"]["name"]]
assert all(name.endswith(".conf") for name in config["data"])'
check "it is bounded in memory" manifest 'assert container["resources"]["limits"]["memory"] == "64Mi"'
check "the image is of this version" manifest "assert container['image'] == 'zfolio:$version'"
check "... which the Containerfile says how to make" grep -q "zfolio:$version " daemon/kubernetes/Containerfile
check "it starts what the package installs" manifest 'assert container["command"] == ["/usr/sbin/zfoliod"]'

# --- the configuration, and the probe ---

# As kubelet mounts it: links into a directory with a name of its own.
machine
cgroup kubepods.slice
cgroup kubepods.slice/kubepods-burstable.slice
rm "$root/etc/zfolio.conf"
/usr/bin/python3 - "$manifest" "$root/etc/zfolio.conf.d" <<'END'
import os, sys, yaml
config, _ = yaml.safe_load_all(open(sys.argv[1]))
os.makedirs(sys.argv[2] + "/..2026")
os.symlink("..2026", sys.argv[2] + "/..data")
for name, text in config["data"].items():
    # Ticks that a test can wait for, and answers to who runs it.
    text += f"\n[daemon]\ninterval = 100ms\ngroup = {os.getgid()}\n"
    open(f"{sys.argv[2]}/..2026/{name}", "w").write(text)
    os.symlink("..data/" + name, f"{sys.argv[2]}/{name}")
END
run build/zfoliod --root "$root" --check-config
check "the configuration has no mistake" [ "$status" = 0 ]
# probe: what the kubelet runs, with the tool on this tree
# shellcheck disable=SC2317 # called by name, through check
probe() {
	printf '#!/bin/sh\nexec build/zfolioctl --root %s "$@"\n' "$root" >"$tmp/zfolioctl"
	chmod +x "$tmp/zfolioctl"
	command=$(/usr/bin/python3 -c 'import sys, yaml
_, daemonset = yaml.safe_load_all(open(sys.argv[1]))
container, = daemonset["spec"]["template"]["spec"]["containers"]
print(container["livenessProbe"]["exec"]["command"][2])' "$manifest")
	PATH=$tmp:$PATH sh -c "$command"
}
check "the probe fails without a daemon" fails probe
# As in the pod.
without_capabilities
start --verbose
check "... and not with one" within_5s probe
check "cold pages of pods are written back" within_5s grep -q source=zswap "$cg/kubepods.slice/kubepods-burstable.slice/memory.reclaim"
check "... and no others'" fails grep -q source=zswap "$cg/a.slice/y.service/memory.reclaim"
stop

finish
