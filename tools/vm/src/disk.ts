import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { run, shell } from './command.ts';
import { BOOT_MODULES, DISABLED_UNITS, guestFiles, initProgram, MASKED_UNITS, PACKAGES } from './guest.ts';
import { saveBootedMachine } from './machine.ts';
import type { MachineImage } from './qemu.ts';

/** Debian release of the guest: its systemd and kernel use cgroup v2 only. */
const SUITE = 'trixie';
/**
 * Revision of the build, which must be increased when {@link buildDisk} changes in a way that the hashed inputs do not
 * show.
 */
const REVISION = 1;
/** Debian packages that building and running a machine requires, with a program of each. */
const TOOLS = [
  ['qemu-system-x86', 'qemu-system-x86_64'],
  ['qemu-utils', 'qemu-img'],
  ['mmdebstrap', 'mmdebstrap'],
  ['e2fsprogs', 'mke2fs'],
] as const;

/**
 * Returns the machine's files from an earlier build, or builds them, which takes some minutes. @throws Error that names
 * what is missing
 */
export async function machineImage(say: (text: string) => void): Promise<MachineImage> {
  const built = builtImage();
  if (built !== undefined) return built;
  const directory = imageDirectory();
  await installTools(say);
  if (process.getuid?.() !== 0)
    throw new Error('build virtual machine: must run as root, because its files belong to root');
  say('building a virtual machine from Debian packages, which is then cached');
  // The build uses a separate directory, so that an incomplete machine is never used and concurrent builds do not
  // conflict.
  const building = `${directory}.${process.pid}`;
  await rm(building, { recursive: true, force: true });
  await mkdir(building, { recursive: true });
  try {
    await buildDisk(building);
    say('booting the machine once and saving its state');
    await saveBootedMachine({ directory: building });
    await rename(building, directory).catch(async (err: unknown) => {
      if (!existsSync(join(directory, 'state'))) throw err;
    });
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return { directory };
}

/** Returns the machine's files if an earlier build exists. */
export function builtImage(): MachineImage | undefined {
  const directory = imageDirectory();
  return existsSync(join(directory, 'state')) ? { directory } : undefined;
}

function imageDirectory(): string {
  const recipe = JSON.stringify([
    REVISION,
    SUITE,
    PACKAGES,
    BOOT_MODULES,
    MASKED_UNITS,
    DISABLED_UNITS,
    guestFiles(),
    initProgram,
  ]);
  const hash = createHash('sha256').update(recipe).digest('hex').slice(0, 12);
  return join(homedir(), '.cache/node-agent', `vm-${hash}`);
}

async function installTools(say: (text: string) => void): Promise<void> {
  const paths = (process.env.PATH ?? '').split(':').concat('/usr/sbin', '/sbin');
  const missing = TOOLS.filter(([, file]) => !paths.some((path) => existsSync(join(path, file)))).map(([name]) => name);
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get'))
    throw new Error(`not installed: ${missing.join(', ')}`);
  say(`installing with apt-get: ${missing.join(', ')}`);
  const install = `apt-get install --yes --no-install-recommends ${missing.join(' ')}`;
  await shell(`${install} >/dev/null || { apt-get update >/dev/null; ${install} >/dev/null; }`, {
    DEBIAN_FRONTEND: 'noninteractive',
  });
}

/** Builds kernel, initrd and disk in a directory. */
async function buildDisk(directory: string): Promise<void> {
  const root = join(directory, 'root');
  // The kernel package is only unpacked: installing it would also install tools that build an initrd.
  const download = `cd '${directory}' && APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get download -qq "$(APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \\(linux-image[^ ]*\\)/\\1/p' | head -1)"`;
  await run('chmod', ['777', directory]);
  await run('mmdebstrap', [
    ...[
      '--quiet',
      '--variant=essential',
      `--include=${PACKAGES.join(',')}`,
      '--aptopt=APT::Install-Recommends "false"',
    ],
    ...['man', 'locale', 'doc'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
    `--customize-hook=${download}`,
    ...[SUITE, root],
    ...(await mirrorLines()),
  ]);
  await addGuestFiles(root);
  await writeFile(join(directory, 'init'), initProgram, { mode: 0o755 });
  await shell(BUILD, { D: directory, R: root, MODULES: BOOT_MODULES.join(' '), DISABLED: DISABLED_UNITS.join(' ') });
  await rm(root, { recursive: true });
}

/** Unpacks the kernel, packs the initrd, and makes a disk image of the root file system. */
const BUILD = `
chroot "$R" systemctl --quiet disable $DISABLED
dpkg-deb --fsys-tarfile "$D"/linux-image-*.deb | tar -x -C "$R" --keep-directory-symlink \\
  --exclude='*/drivers/gpu' --exclude='*/drivers/media' --exclude='*/drivers/net/[ew]*' --exclude='*/sound'
rm "$D"/linux-image-*.deb
mv "$R"/boot/vmlinuz-* "$D/vmlinuz"
kernel=$(basename "$R"/usr/lib/modules/*)
find "$R/usr/lib/modules" -name '*.ko.xz' -print0 | xargs -0 -r -n50 xz -d
chroot "$R" depmod "$kernel"
initrd=$D/initrd.d
mkdir -p "$initrd"/{proc,sys,dev,new}
cp "$R/bin/busybox" "$initrd/"
mv "$D/init" "$initrd/init"
: >"$initrd/order"
for module in $MODULES; do chroot "$R" modprobe -S "$kernel" --show-depends "$module"; done |
  awk '$1 == "insmod" && !seen[$2]++ { print $2 }' |
  while read -r path; do cp "$R$path" "$initrd/"; basename "$path" >>"$initrd/order"; done
(cd "$initrd" && find . | ./busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$D/initrd"
truncate -s 6G "$D/root.img"
mke2fs -q -F -t ext4 -O ^has_journal -m 0 -d "$R" "$D/root.img"
cd "$D"
# The path is relative, because the directory is renamed at the end.
qemu-img create -q -f qcow2 -b root.img -F raw warm.qcow2
rm -rf "$initrd"
`;

async function addGuestFiles(root: string): Promise<void> {
  for (const directory of ['/mnt/host', '/etc/systemd/system/vm.target.wants']) {
    await mkdir(join(root, directory), { recursive: true });
  }
  for (const { path, content, mode = 0o644 } of guestFiles()) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
    await chmod(join(root, path), mode);
  }
  const units = join(root, '/etc/systemd/system');
  await symlink('../vm-job.service', join(units, 'vm.target.wants/vm-job.service'));
  await rm(join(units, 'default.target'), { force: true });
  await symlink('vm.target', join(units, 'default.target'));
  for (const unit of MASKED_UNITS) {
    await rm(join(units, unit), { force: true });
    await symlink('/dev/null', join(units, unit));
  }
}

/** Returns the package sources of this machine. Without package sources, mmdebstrap uses its defaults. */
async function mirrorLines(): Promise<readonly string[]> {
  const text = await readFile('/etc/apt/sources.list.d/debian.sources', 'utf8').catch(() => '');
  const mirror = /^URIs:\s*(\S+\/debian)\/?$/m.exec(text)?.[1];
  return mirror === undefined ? [] : [`deb ${mirror} ${SUITE} main`, `deb ${mirror} ${SUITE}-updates main`];
}
