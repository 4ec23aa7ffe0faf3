import { VolumeError } from '../../errors.ts';
import type { CommandResult } from '../../mount/command-shell.ts';
import type { DiskTools } from '../disk-tools.ts';
import type { IscsiDisk } from './iscsi-disk.ts';

/** Exit codes of iscsiadm(8). */
const SESSION_EXISTS = 15;
const SESSION_NOT_FOUND = 2;
const NO_OBJECTS_FOUND = 21;

/** CHAP credentials, by key of a secret. */
export type ChapSecret = Readonly<Record<string, string>>;

const DISCOVERY_KEYS = ['username', 'password', 'username_in', 'password_in'].map(
  (key) => `discovery.sendtargets.auth.${key}`,
);
const SESSION_KEYS = ['username', 'password', 'username_in', 'password_in'].map((key) => `node.session.auth.${key}`);

/**
 * Runs iscsiadm(8) with the same commands in the same order as upstream (`pkg/volume/iscsi/iscsi_util.go`). Messages
 * contain no secrets (W4).
 */
export class Iscsiadm {
  readonly #tools: DiskTools;

  constructor(tools: DiskTools) {
    this.#tools = tools;
  }

  /** Returns the settings of an iSCSI interface that are not empty. @throws VolumeError `MountFailed` */
  async interfaceSettings(iface: string, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const { exitCode, output } = await this.#run(['-m', 'iface', '-I', iface, '-o', 'show'], iface, signal);
    if (exitCode !== 0) throw failed(`could not read iface ${iface} error: ${output}`);
    const settings = [...output.matchAll(/(iface\.\S+) = (\S+)/g)].map(
      ([, name = '', value = '']) => [name, value] as const,
    );
    return new Map(settings.filter(([, value]) => value !== '<empty>'));
  }

  /**
   * Creates an iSCSI interface with the volume's initiator name and the other settings of `initIface` (`cloneIface`).
   */
  async cloneInterface({ initIface, iface, initiatorName }: IscsiDisk, signal: AbortSignal): Promise<void> {
    const settings = new Map(await this.interfaceSettings(initIface, signal));
    settings.delete('iface.iscsi_ifacename');
    settings.set('iface.initiatorname', initiatorName);
    const created = await this.#run(['-m', 'iface', '-I', iface, '-o', 'new'], iface, signal);
    if (created.exitCode !== 0 && created.exitCode !== SESSION_EXISTS) {
      throw failed(`failed to create new iface: ${created.output}`);
    }
    for (const [name, value] of [...settings].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const args = ['-m', 'iface', '-I', iface, '-o', 'update', '-n', name, '-v', value];
      const { exitCode, output } = await this.#run(args, iface, signal);
      if (exitCode === 0) continue;
      await this.deleteInterface(iface, signal);
      throw failed(`failed to update iface records: ${output}. iface(${initIface}) will be used`);
    }
  }

  async deleteInterface(iface: string, signal: AbortSignal): Promise<void> {
    await this.#ended(['-m', 'iface', '-I', iface, '-o', 'delete'], iface, 'delete iface', signal);
  }

  /** Discovers the target at a portal and logs in. @throws VolumeError `MountFailed` */
  async login(disk: IscsiDisk, portal: string, secret: ChapSecret, signal: AbortSignal): Promise<void> {
    const { iqn, iface } = disk;
    const database = ['-m', 'discoverydb', '-t', 'sendtargets', '-p', portal, '-I', iface];
    const node = ['-m', 'node', '-p', portal, '-T', iqn, '-I', iface];
    const subject = `${portal} ${iqn}`;
    const run = (...args: string[]): Promise<CommandResult> => this.#run(args, subject, signal);
    await run(...database, '-o', 'new');
    if (disk.chapDiscovery) {
      const what = `failed to update discoverydb to portal ${portal}`;
      await this.#chap(database, 'discovery.sendtargets.auth', DISCOVERY_KEYS, secret, what, subject, signal);
    }
    const discovered = await run(...database, '--discover');
    if (discovered.exitCode !== 0) {
      await run(...database, '-o', 'delete');
      throw failed(`failed to sendtargets to portal ${portal} output: ${shown(discovered)}`);
    }
    // `manual` keeps the kernel from adding other LUNs of the target. Versions of iscsiadm without this setting fail,
    // which is ignored.
    await run(...node, '-o', 'update', '-n', 'node.session.scan', '-v', 'manual');
    if (disk.chapSession) {
      const what = `failed to update iscsi node to portal ${portal}`;
      await this.#chap(node, 'node.session.auth', SESSION_KEYS, secret, what, subject, signal);
    }
    const loggedIn = await run(...node, '--login');
    if (loggedIn.exitCode !== 0) {
      await run(...node, '-o', 'delete');
      throw failed(`failed to attach disk: Error: ${shown(loggedIn)}`);
    }
    // `manual` prevents a login when the machine boots, which could hang after a crash.
    await run('-m', 'node', '-p', portal, '-T', iqn, '-o', 'update', '-n', 'node.startup', '-v', 'manual');
  }

  /** Logs out and deletes the node record; does nothing if there is no session. @throws VolumeError `MountFailed` */
  async logout(portal: string, iqn: string, iface: string, signal: AbortSignal): Promise<void> {
    const node = ['-m', 'node', '-p', portal, '-T', iqn];
    const ofInterface = iface === '' ? [] : ['-I', iface];
    const subject = `${portal} ${iqn}`;
    await this.#ended([...node, '--logout', ...ofInterface], subject, 'detach disk', signal);
    await this.#ended([...node, '-o', 'delete', ...ofInterface], subject, 'delete node record', signal);
  }

  async #chap(
    database: readonly string[],
    prefix: string,
    keys: readonly string[],
    secret: ChapSecret,
    what: string,
    subject: string,
    signal: AbortSignal,
  ): Promise<void> {
    const values = [[`${prefix}.authmethod`, 'CHAP'], ...keys.map((key) => [key, secret[key] ?? ''])];
    for (const [key = '', value = ''] of values) {
      if (value === '') continue;
      const args = [...database, '-o', 'update', '-n', key, '-v', value];
      const { exitCode, output } = await this.#run(args, subject, signal);
      if (exitCode !== 0) throw failed(`${what} error: key ${JSON.stringify(key)}: ${output.replaceAll(value, '***')}`);
    }
  }

  async #ended(args: readonly string[], subject: string, what: string, signal: AbortSignal): Promise<void> {
    const result = await this.#run(args, subject, signal);
    const { exitCode } = result;
    if (exitCode === 0 || exitCode === NO_OBJECTS_FOUND || exitCode === SESSION_NOT_FOUND) return;
    throw failed(`failed to ${what} Error: ${shown(result)}`);
  }

  #run(args: readonly string[], subject: string, signal: AbortSignal): Promise<CommandResult> {
    return this.#tools.run('iscsiadm', args, subject, signal);
  }
}

function failed(why: string): VolumeError {
  return new VolumeError('MountFailed', `iscsi: ${why}`);
}

function shown({ exitCode, output }: CommandResult): string {
  return `${output} (exit status ${exitCode})`;
}
