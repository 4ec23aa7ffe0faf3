import { join } from 'node:path';

/** Files of a machine that was built. */
export interface MachineImage {
  /** Where they all are. */
  readonly directory: string;
}

export interface QemuRun {
  readonly image: MachineImage;
  /** The run's own directory: its command, status and logs. */
  readonly run: string;
  /** What the guest may read. */
  readonly share: string;
  /** Boots from the disk, and keeps what is written to it; else the saved state of a booted machine goes on. */
  readonly cold?: boolean;
  /** Reads commands to the emulator itself from its standard input. */
  readonly monitor?: boolean;
}

const KERNEL_OPTIONS =
  'console=ttyS0 quiet mitigations=off tsc=reliable random.trust_cpu=on psi=1 net.ifnames=0 panic=-1 systemd.show_status=0';

/** The emulator's arguments. The machine has to be the same whenever a saved state goes on in it. */
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
