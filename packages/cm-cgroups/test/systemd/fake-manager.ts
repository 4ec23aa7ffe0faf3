import { type DbusMessage, type DbusValue, Variant } from '@node-agent/dbus';
import { type Answer, type AnsweringPeer, FakePeer } from '@node-agent/dbus/testing';

const NAME = 'org.freedesktop.systemd1';
const PATH = '/org/freedesktop/systemd1';

/** A fake systemd on D-Bus: units, jobs that finish after a delay, and configurable faults. */
export class FakeManager {
  readonly units: Map<string, { state: string; properties: Map<string, DbusValue> }> = new Map();
  readonly connections: FakePeer[] = [];
  /** The result of each job; `undefined`: jobs do not finish. */
  jobResult: string | undefined = 'done';
  /** Whether the JobRemoved signal is sent. */
  tells = true;
  /** Whether calls are answered. */
  answers = true;
  /** Additional replies to calls. */
  override: (member: string) => Answer | undefined = () => undefined;
  readonly members: string[] = [];
  readonly #jobs = new Set<number>();
  #job = 0;

  connect(path: string): FakePeer {
    if (path !== '/bus') {
      const nobody = new FakePeer(() => 'nothing');
      queueMicrotask(() => nobody.end(new Error(`connect ENOENT ${path}`)));
      return nobody;
    }
    const peer = new FakePeer((call, from) => this.#answer(call, from), `:1.${this.connections.length}`);
    this.connections.push(peer);
    return peer;
  }

  /** Closes all connections, as `systemctl daemon-reexec` does. */
  restart(): void {
    for (const peer of this.connections) peer.end();
  }

  #answer(call: DbusMessage, peer: AnsweringPeer): Answer {
    const member = call.member ?? '';
    if (call.destination === 'org.freedesktop.DBus') return { signature: 's', body: [':1.99'] };
    this.members.push(member);
    if (!this.answers) return 'nothing';
    const other = this.override(member);
    if (other !== undefined) return other;
    const [first = '', second] = call.body;
    const name = String(first);
    const unit = this.units.get(name);
    switch (member) {
      case 'Get':
        return {
          signature: 'v',
          body: [new Variant('s', second === 'Version' ? '257.9-1' : this.#stateAt(call.path))],
        };
      case 'StartTransientUnit': {
        if (unit !== undefined) return { error: `${NAME}.UnitExists`, text: `Unit ${name} was already loaded` };
        const list = call.body[2] as readonly (readonly [string, Variant])[];
        const properties = new Map(list.map(([key, { value }]) => [key, value]));
        this.units.set(name, { state: 'activating', properties });
        return this.#startJob(peer, name, 'active');
      }
      case 'StartUnit':
        if (unit === undefined) return this.#noSuchUnit(name);
        return this.#startJob(peer, name, 'active');
      case 'StopUnit':
        if (unit === undefined) return this.#noSuchUnit(name);
        return this.#startJob(peer, name, 'gone');
      case 'SetUnitProperties':
        if (unit === undefined) return this.#noSuchUnit(name);
        for (const [key, { value }] of call.body[2] as readonly (readonly [string, Variant])[]) {
          unit.properties.set(key, value);
        }
        return { signature: '', body: [] };
      case 'GetUnit':
        if (unit === undefined) return this.#noSuchUnit(name);
        return { signature: 'o', body: [`${PATH}/unit/${Buffer.from(name).toString('hex')}`] };
      case 'GetJob':
        if (!this.#jobs.has(first as number)) return { error: `${NAME}.NoSuchJob` };
        return { signature: 'o', body: [`${PATH}/job/${name}`] };
      case 'ResetFailedUnit':
        if (unit === undefined) return this.#noSuchUnit(name);
        if (unit.state === 'failed') this.units.delete(name);
        return { signature: '', body: [] };
      default:
        return { signature: '', body: [] };
    }
  }

  #startJob(peer: AnsweringPeer, name: string, state: string): Answer {
    const id = ++this.#job;
    const path = `${PATH}/job/${id}`;
    this.#jobs.add(id);
    const { jobResult } = this;
    if (jobResult !== undefined) {
      const end = (): void => {
        this.#jobs.delete(id);
        const unit = this.units.get(name);
        if (state === 'gone') this.units.delete(name);
        else if (unit) unit.state = jobResult === 'done' ? state : 'failed';
        if (this.tells) peer.signal(PATH, `${NAME}.Manager`, 'JobRemoved', 'uoss', [id, path, name, jobResult]);
      };
      setImmediate(end);
    }
    return { signature: 'o', body: [path] };
  }

  #stateAt(path = ''): string {
    const name = Buffer.from(path.slice(path.lastIndexOf('/') + 1), 'hex').toString();
    return this.units.get(name)?.state ?? 'inactive';
  }

  #noSuchUnit(name: string): Answer {
    return { error: `${NAME}.NoSuchUnit`, text: `Unit ${name} not loaded.` };
  }
}
