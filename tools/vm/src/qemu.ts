import { join } from 'node:path';

/** Files of a built machine. */
export interface MachineImage {
  /** Directory with all files. */
  readonly directory: string;
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
  /** Whether the emulator reads monitor commands from its standard input. */
  readonly monitor?: boolean;
}

const KERNEL_OPTIONS =
  'console=ttyS0 quiet mitigations=off tsc=reliable random.trust_cpu=on psi=1 net.ifnames=0 panic=-1 systemd.show_status=0';

/**
 * Returns the emulator's arguments. The machine must be identical to the one whose state was saved, otherwise the state
 * cannot be resumed.
 */
export function qemuArguments({ image, run, share, cold = false, monitor = false }: QemuRun): readonly string[] {
  const file = (name: string): string => join(image.directory, name);
  const disk = `file=${file('warm.qcow2')},if=virtio,cache=unsafe`;
  const shared = (path: string, tag: string, readOnly: boolean): string =>
    `local,path=${path},mount_tag=${tag},security_model=none,multidevs=remap${readOnly ? ',readonly=on' : ''}`;
  return [
    ...['-M', 'q35,usb=off', '-accel', 'tcg,thread=multi,tb-size=512', '-cpu', 'max,la57=off', '-smp', '2', '-m', '2G'],
    ...['-nodefaults', '-display', 'none', '-no-reboot'],
    ...['-kernel', file('vmlinuz'), '-initrd', file('initrd'), '-append', KERNEL_OPTIONS],
    ...(cold ? [] : ['-incoming', `exec:cat '${file('state')}'`]),
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
