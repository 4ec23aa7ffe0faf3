import { join } from 'node:path';

/** Files of a built machine. */
export interface MachineImage {
  /** Directory with all files. */
  readonly directory: string;
}

/** Machine with two sockets, each a NUMA node with half of the memory, whose cores have two threads. */
export interface NumaMachine {
  readonly coresPerSocket: number;
  /** Memory of each NUMA node in MiB. */
  readonly nodeMegabytes: number;
  /**
   * Whether the guest's clock counts executed instructions, a nanosecond each, and skips the time in which all CPUs are
   * idle. Time limits in the guest then do not depend on the host's speed. Default: false.
   */
  readonly countsInstructions?: boolean;
}

export interface QemuRun {
  readonly image: MachineImage;
  /** Directory of the run, with its command, status and logs. */
  readonly run: string;
  /** Directory that the guest can read. */
  readonly share: string;
  /**
   * Whether to boot from the disk and keep what is written to it. Otherwise the saved state of a booted machine is
   * resumed.
   */
  readonly cold?: boolean;
  /**
   * NUMA machine to boot. No state of such a machine is saved. Writes to the disk are discarded. Default: the machine
   * whose state was saved.
   */
  readonly numa?: NumaMachine;
  /** Whether the emulator reads monitor commands from its standard input. */
  readonly monitor?: boolean;
}

const KERNEL_OPTIONS =
  'console=ttyS0 quiet mitigations=off tsc=reliable random.trust_cpu=on psi=1 net.ifnames=0 panic=-1 systemd.show_status=0';

/**
 * CPU of a NUMA machine. `max` alone is an AMD CPU, for which Linux computes another ID of the level 3 cache for each CPU,
 * although the CPUs of a socket share the cache. For an Intel CPU, the IDs are right.
 */
const NUMA_CPU = 'max,la57=off,vendor=GenuineIntel,family=6,model=85,stepping=7';

function numaArguments({ coresPerSocket, nodeMegabytes, countsInstructions = false }: NumaMachine): readonly string[] {
  const cpus = coresPerSocket * 2;
  return [
    ...['-smp', `${cpus * 2},sockets=2,cores=${coresPerSocket},threads=2`, '-m', `${nodeMegabytes * 2}M`],
    ...[0, 1].flatMap((id) => [
      ...['-object', `memory-backend-ram,id=m${id},size=${nodeMegabytes}M`],
      ...['-numa', `node,nodeid=${id},cpus=${id * cpus}-${(id + 1) * cpus - 1},memdev=m${id}`],
    ]),
    ...['-numa', 'dist,src=0,dst=1,val=21'],
    ...(countsInstructions ? ['-icount', 'shift=0,sleep=off'] : []),
  ];
}

/**
 * Returns the emulator's arguments. The machine must be identical to the one whose state was saved, otherwise the state
 * cannot be resumed.
 */
export function qemuArguments(options: QemuRun): readonly string[] {
  const { image, run, share, cold = false, numa, monitor = false } = options;
  const file = (name: string): string => join(image.directory, name);
  // The file system in warm.qcow2 is that of a running machine: what the saved state has not written yet is missing.
  const disk = `${numa ? `file=${file('root.img')},format=raw` : `file=${file('warm.qcow2')}`},if=virtio,cache=unsafe`;
  const shared = (path: string, tag: string, readOnly: boolean): string =>
    `local,path=${path},mount_tag=${tag},security_model=none,multidevs=remap${readOnly ? ',readonly=on' : ''}`;
  return [
    // With a thread for each of many CPUs, QEMU 7.2 sometimes runs half of an instruction that the kernel is patching.
    ...['-M', 'q35,usb=off', '-accel', `tcg,thread=${numa ? 'single' : 'multi'},tb-size=512`],
    ...['-cpu', numa ? NUMA_CPU : 'max,la57=off'],
    ...(numa ? numaArguments(numa) : ['-smp', '2', '-m', '2G']),
    ...['-nodefaults', '-display', 'none', '-no-reboot'],
    ...['-kernel', file('vmlinuz'), '-initrd', file('initrd'), '-append', KERNEL_OPTIONS],
    ...(cold || numa ? [] : ['-incoming', `exec:cat '${file('state')}'`]),
    ...(monitor ? ['-monitor', 'stdio'] : []),
    ...['-drive', cold ? disk : `${disk},snapshot=on`],
    ...['-nic', 'user,model=virtio-net-pci,restrict=on,ipv6=off'],
    ...['-virtfs', shared(share, 'host', true), '-virtfs', shared(run, 'ctl', false)],
    ...['-serial', `file:${join(run, 'console.log')}`, '-serial', `file:${join(run, 'ready')}`],
    ...['-device', 'virtio-serial-pci', '-chardev', `file,id=out,path=${join(run, 'output')}`],
    ...['-device', 'virtconsole,chardev=out'],
    ...['-chardev', `socket,id=go,path=${join(run, 'go')},server=on,wait=off`],
    ...['-device', 'virtserialport,chardev=go,name=ctl'],
  ];
}
