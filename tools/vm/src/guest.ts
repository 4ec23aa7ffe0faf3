/** File in the guest. */
export interface GuestFile {
  readonly path: string;
  readonly content: string;
  /** File mode. Default: 0o644. */
  readonly mode?: number;
}

/** Directory of the tests' files in the guest, read-only. */
export const HOST_SHARE = '/mnt/host';
/** Directory with the run's command and its exit status. */
const CONTROL = '/run/vm';
/** Directory for a command's results, which the host can keep. */
export const RESULTS: string = `${CONTROL}/results`;

/** Packages of the guest in addition to Debian's essential packages. */
export const PACKAGES: readonly string[] = [
  ...['systemd-sysv', 'dbus', 'libpam-systemd', 'kmod', 'mount', 'procps', 'util-linux', 'libstdc++6', 'e2fsprogs'],
  ...['busybox-static', 'iproute2', 'iptables', 'containerd', 'runc', 'containernetworking-plugins', 'ca-certificates'],
  // For the suite `volumes`: NFS server and client, and the iSCSI initiator with udev. The kernel has an iSCSI target.
  ...['nfs-kernel-server', 'nfs-common', 'rpcbind', 'open-iscsi', 'udev'],
];

/** Kernel modules for disk, network and shared directories, which are loaded before the root file system is mounted. */
export const BOOT_MODULES: readonly string[] = ['virtio_blk', 'ext4', 'virtio_net', '9pnet_virtio', '9p', 'overlay'];

/** Units that no test needs. Each process at boot costs a tenth of a second in an emulated machine. */
export const MASKED_UNITS: readonly string[] = [
  ...['getty@', 'serial-getty@', 'console-getty', 'getty-static', 'modprobe@', 'kmod-static-nodes'].map(service),
  ...['update-utmp', 'modules-load', 'random-seed', 'remount-fs', 'journal-flush', 'user-sessions'].map(ofSystemd),
  ...['tmpfiles-setup-dev-early', 'tmpfiles-setup-dev', 'hibernate-clear', 'pstore', 'ask-password-wall'].map(
    ofSystemd,
  ),
  ...['udevd', 'udev-trigger', 'udev-settle', 'udev-load-credentials', 'hwdb-update', 'network-generator'].map(
    ofSystemd,
  ),
  ...['udevd-control', 'udevd-kernel'].map((name) => `systemd-${name}.socket`),
  ...['dev-hugepages', 'dev-mqueue', 'sys-kernel-debug', 'sys-kernel-tracing', 'sys-kernel-config', 'tmp'].map(mount),
  ...['e2scrub_all', 'fstrim', 'dpkg-db-backup', 'systemd-tmpfiles-clean'].map((name) => `${name}.timer`),
];

/** Units of {@link PACKAGES} that do not start at boot. A suite that needs them starts them. */
export const DISABLED_UNITS: readonly string[] = [
  ...['nfs-server', 'nfs-blkmap', 'rpcbind', 'open-iscsi', 'iscsid'].map(service),
  ...['rpcbind.socket', 'iscsid.socket', 'nfs-client.target'],
];

function service(name: string): string {
  return `${name}.service`;
}

function ofSystemd(name: string): string {
  return `systemd-${name}.service`;
}

function mount(name: string): string {
  return `${name}.mount`;
}

/**
 * Returns the files that turn a Debian root file system into a guest: host identity, and the service that runs one
 * command on request.
 */
export function guestFiles(): readonly GuestFile[] {
  return [
    { path: '/etc/hostname', content: 'vm\n' },
    { path: '/etc/hosts', content: '127.0.0.1 localhost vm\n' },
    { path: '/etc/fstab', content: '' },
    { path: '/etc/machine-id', content: `${'0123456789abcdef'.repeat(2)}\n` },
    { path: '/etc/systemd/journald.conf.d/vm.conf', content: '[Journal]\nStorage=volatile\n' },
    { path: '/etc/containerd/config.toml', content: containerdConfiguration },
    {
      path: '/etc/systemd/system/vm.target',
      content: '[Unit]\nRequires=multi-user.target\nAfter=multi-user.target\nAllowIsolate=yes\n',
    },
    { path: '/etc/systemd/system/vm-job.service', content: jobUnit },
    { path: '/usr/local/sbin/vm-job', content: job, mode: 0o755 },
  ];
}

const containerdConfiguration = `version = 2
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = true
`;

const jobUnit = `[Unit]
After=multi-user.target
[Service]
Type=exec
ExecStart=/usr/local/sbin/vm-job
StandardOutput=tty
StandardError=tty
TTYPath=/dev/hvc0
LimitNOFILE=1048576
`;

/**
 * Script of the guest's service. The script reports that the machine is up, waits for a byte, runs the command, writes
 * its exit status and powers off.
 */
const job = `#!/bin/bash
stty -F /dev/hvc0 raw -echo
export HOME=/root; cd; mkdir -p ${CONTROL}
port=/dev/$(grep -l ctl /sys/class/virtio-ports/*/name | cut -d/ -f5)
echo ready >/dev/ttyS1
# As long as nobody is at its other end, a port is at its end, too.
while [ -z "$(head -c1 "$port")" ]; do sleep 0.2; done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro host ${HOST_SHARE}
mount -t 9p -o trans=virtio,version=9p2000.L,cache=none ctl ${CONTROL}
date -s "@$(cat ${CONTROL}/now)" >/dev/null
sh ${CONTROL}/command
echo $? >${CONTROL}/status
sync
exec systemctl poweroff -ff 2>/dev/null
`;

/** Init program of the initrd. The program loads the modules for the disk and switches to systemd on the disk. */
export const initProgram = `#!/busybox sh
b=/busybox
$b mount -t proc proc /proc; $b mount -t sysfs sysfs /sys; $b mount -t devtmpfs dev /dev
while read -r module; do $b insmod "/$module"; done </order
$b ip link set lo up
$b mount -t ext4 -o noatime /dev/vda /new
for directory in proc sys dev; do $b mount -o move /$directory /new/$directory; done
exec $b switch_root /new /sbin/init
`;
