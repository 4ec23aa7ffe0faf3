import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { freePorts } from '@node-agent/tools-ports';
import { type Answer, type Caller, call } from './api.ts';
import { type Certificates, processArguments } from './arguments.ts';
import { Authority, type KeyPair } from './authority.ts';
import type { ControlPlaneBinaries } from './binaries.ts';
import { bootstrapObjects, KUBELET_CLIENT } from './bootstrap-objects.ts';
import { kubeconfig } from './kubeconfig.ts';
import {
  addressesOf,
  firstAddress,
  type Layout,
  type Places,
  PROCESS_NAMES,
  type ProcessName,
  placesIn,
} from './layout.ts';
import { ManagedProcess } from './managed-process.ts';
import { run } from './run.ts';
import { addAddress, removeAddress } from './service-address.ts';

/** Options of a {@link ControlPlane}. */
export interface ControlPlaneOptions {
  readonly binaries: ControlPlaneBinaries;
  /** Directory for data, certificates and logs. The directory is created by `start` and removed by `stop`. */
  readonly directory: string;
  /**
   * Whether pods with their own addresses can reach the API server. If true, the API server listens on port 443 of the
   * `kubernetes` service's address, which is added to the loopback interface and requires root. If false, the API
   * server listens on 127.x.y.1. Default: false.
   */
  readonly reachableFromPods?: boolean;
  /** Subnet of the services, such as `10.96.0.0/16`. Default: a /24 subnet that depends on the directory. */
  readonly serviceSubnet?: string;
  /**
   * Additional arguments per process, such as `{ 'kube-controller-manager': ['--node-monitor-grace-period=10s'] }`.
   * These arguments override the default ones.
   */
  readonly extraArguments?: Readonly<Partial<Record<ProcessName, readonly string[]>>>;
  /** Time limit in ms for each process to become ready. Default: 60,000. */
  readonly startTimeoutMs?: number;
}

const POLL_MS = 100;

/**
 * Kubernetes control plane with real programs on the loopback interface. The control plane uses TLS and client
 * certificates, Node and RBAC authorization and NodeRestriction. Nodes can join with a certificate or a bootstrap
 * token. Each process can be killed and restarted. The processes keep running when this program exits without stopping
 * them.
 */
export class ControlPlane {
  readonly #options: ControlPlaneOptions;
  readonly #places: Places;
  readonly #authority: Authority;
  readonly #etcdAuthority: Authority;
  readonly #processes = new Map<ProcessName, ManagedProcess>();
  #layout: Layout | undefined;
  #ca = '';
  #admin: { readonly cert: string; readonly key: string } | undefined;
  #etcdCaller: Caller | undefined;

  constructor(options: ControlPlaneOptions) {
    this.#options = options;
    this.#places = placesIn(options.directory);
    this.#authority = new Authority(this.#places.pki);
    this.#etcdAuthority = new Authority(this.#places.etcdPki);
  }

  /** URL of the API server: `https://ADDRESS:PORT`. */
  get url(): string {
    const { apiAddress, apiPort } = this.#prepared;
    return `https://${apiAddress}:${apiPort}`;
  }

  /** Path of the administrator's kubeconfig. */
  get adminKubeconfig(): string {
    return this.#places.kubeconfig('admin');
  }

  /** Credentials of the administrator, in PEM format. */
  get admin(): Required<Caller> {
    if (this.#admin === undefined) throw new Error('the control plane was not started');
    return { ca: this.#ca, ...this.#admin };
  }

  /** Path of a kubeconfig with a bootstrap token, which permits a node to request its certificate. */
  get bootstrapKubeconfig(): string {
    return this.#places.bootstrapKubeconfig;
  }

  /** Path of the certificate of the CA for servers and clients. */
  get caFile(): string {
    return this.#authority.cert;
  }

  /**
   * Prepares and starts all processes and waits until pods can be created. @throws Error with the end of a log, after
   * all processes and files were removed
   */
  async start(): Promise<void> {
    try {
      await this.#prepare();
      for (const name of PROCESS_NAMES) await this.startProcess(name);
      await this.#untilPodsCanBeCreated();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Attaches to a control plane that another program started with this directory. @throws Error if there is none */
  async attach(): Promise<void> {
    const layout = await this.#savedLayout();
    if (layout === undefined) throw new Error(`attach control plane: none in ${this.#options.directory}`);
    await this.#prepare();
  }

  /** Stops all processes of this directory, even those that another program started, and removes all files. */
  async stop(): Promise<void> {
    const failures: unknown[] = [];
    for (const name of [...PROCESS_NAMES].reverse()) {
      await this.#process(name, [])
        .end('SIGTERM')
        .catch((error: unknown) => failures.push(error));
    }
    // The files stay if a process could not be stopped.
    if (failures.length > 0) throw failures[0];
    const layout = this.#layout ?? (await this.#savedLayout());
    if (layout !== undefined && layout.apiAddress !== layout.address) await removeAddress(layout.apiAddress);
    await rm(this.#options.directory, { recursive: true, force: true });
  }

  /** Starts one process and waits until it is ready. @throws Error with the end of its log */
  async startProcess(name: ProcessName): Promise<void> {
    const found = this.#processes.get(name);
    if (found === undefined) throw new Error(`${name}: the control plane was not started`);
    if ((await found.pid()) !== undefined) return;
    await found.start();
    await this.#until(`${name} to be ready`, () => this.#isReady(name), found);
    if (name === 'kube-apiserver') await this.#createBootstrapObjects();
  }

  /** Kills one process. */
  async killProcess(name: ProcessName, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.#process(name, []).end(signal);
  }

  /**
   * Deletes all data of the cluster: etcd starts with an empty data directory and restarts the resource versions. The
   * other processes are restarted, too.
   */
  async wipe(): Promise<void> {
    for (const name of [...PROCESS_NAMES].reverse()) await this.killProcess(name, 'SIGKILL');
    await rm(this.#places.etcdData, { recursive: true, force: true });
    for (const name of PROCESS_NAMES) await this.startProcess(name);
    await this.#untilPodsCanBeCreated();
  }

  /** Returns the ID of a process; `undefined` if it is not running. */
  async pid(name: ProcessName): Promise<number | undefined> {
    return this.#process(name, []).pid();
  }

  /**
   * Writes a kubeconfig with a certificate of a node. @returns the path of the file, which exists until the control
   * plane is stopped
   */
  async nodeKubeconfig(nodeName: string): Promise<string> {
    const subject = { commonName: `system:node:${nodeName}`, organization: 'system:nodes' };
    return this.#clientKubeconfig(`node-${nodeName}`, subject);
  }

  /**
   * Writes a kubeconfig with a certificate of a user, such as `system:kube-proxy`. @returns the path of the file, which
   * exists until the control plane is stopped
   */
  async userKubeconfig(user: string): Promise<string> {
    return this.#clientKubeconfig(`user-${user.replaceAll(':', '-')}`, { commonName: user });
  }

  /** Sends a request as administrator. @throws Error if there is no response */
  async request(method: string, path: string, body?: unknown): Promise<Answer> {
    return call(`${this.url}${path}`, this.admin, method, body);
  }

  /**
   * Sends a request as administrator and parses the JSON response. @throws Error with the response if it is not
   * successful
   */
  async json<T>(method: string, path: string, body?: unknown): Promise<T> {
    const { status, text } = await this.request(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${status}: ${text}`);
    return JSON.parse(text) as T;
  }

  /**
   * Runs kubectl as administrator. @returns its standard output
   * @throws Error with its output if it fails
   */
  async kubectl(args: readonly string[], input = ''): Promise<string> {
    return run(this.#options.binaries.kubectl, [`--kubeconfig=${this.adminKubeconfig}`, ...args], { input });
  }

  /**
   * Compacts etcd and restarts the API server, so that old resource versions expire. Without the restart, the API
   * server would still have the old resource versions in its cache.
   */
  async compact(): Promise<void> {
    const url = `https://${this.#prepared.address}:${this.#prepared.etcdPort}/v3/kv`;
    const caller = this.#etcdCaller;
    if (caller === undefined) throw new Error('the control plane was not started');
    const range = await call(`${url}/range`, caller, 'POST', { key: 'AA==', serializable: true });
    const { header } = JSON.parse(range.text) as { readonly header: { readonly revision: string } };
    const compacted = await call(`${url}/compaction`, caller, 'POST', { revision: header.revision, physical: true });
    if (compacted.status !== 200) throw new Error(`compact etcd: ${compacted.text}`);
    await this.killProcess('kube-apiserver', 'SIGKILL');
    await this.startProcess('kube-apiserver');
  }

  async #prepare(): Promise<void> {
    const { directory, extraArguments = {}, reachableFromPods = false, serviceSubnet } = this.#options;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const layout = (await this.#savedLayout()) ?? (await newLayout(directory, reachableFromPods, serviceSubnet));
    this.#layout = layout;
    await writeFile(this.#places.layout, JSON.stringify(layout));
    if (layout.apiAddress !== layout.address) await addAddress(layout.apiAddress);
    await this.#authority.prepare('node-agent-ca');
    await this.#etcdAuthority.prepare('node-agent-etcd-ca');
    this.#ca = await readFile(this.#authority.cert, 'utf8');
    const certificates = await this.#certificates(layout);
    this.#etcdCaller = {
      ca: await readFile(this.#etcdAuthority.cert, 'utf8'),
      ...(await contentOf(certificates.etcdClient)),
    };
    await this.#serviceAccountKey();
    await this.#kubeconfigs();
    const args = processArguments(directory, layout, certificates);
    for (const name of PROCESS_NAMES) {
      this.#processes.set(name, this.#process(name, [...args[name], ...(extraArguments[name] ?? [])]));
    }
  }

  async #certificates(layout: Layout): Promise<Certificates> {
    const { address, apiAddress, serviceSubnet } = layout;
    const ips = [...new Set([address, apiAddress, firstAddress(serviceSubnet), '127.0.0.1'])];
    const service = 'kubernetes.default.svc';
    const dnsNames = ['localhost', 'kubernetes', 'kubernetes.default', service, `${service}.cluster.local`];
    const local = { ips: [address, '127.0.0.1'], dnsNames: ['localhost'] };
    const [own, etcd] = [this.#authority, this.#etcdAuthority];
    return {
      ca: own,
      apiServer: await own.issue('apiserver', { commonName: 'kube-apiserver', ips, dnsNames }),
      kubeletClient: await own.issue('apiserver-kubelet-client', { commonName: KUBELET_CLIENT }),
      controllerManager: await own.issue('controller-manager-server', {
        commonName: 'kube-controller-manager',
        ...local,
      }),
      scheduler: await own.issue('scheduler-server', { commonName: 'kube-scheduler', ...local }),
      etcdCa: etcd,
      etcd: await etcd.issue('server', { commonName: 'etcd', ...local }),
      etcdClient: await etcd.issue('client', { commonName: 'kube-apiserver-etcd-client' }),
    };
  }

  async #serviceAccountKey(): Promise<void> {
    const { serviceAccountKey, serviceAccountPublicKey } = this.#places;
    if ((await readFile(serviceAccountKey).catch(() => undefined)) !== undefined) return;
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    await writeFile(serviceAccountPublicKey, publicKey.export({ type: 'spki', format: 'pem' }));
    await writeFile(serviceAccountKey, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  }

  async #kubeconfigs(): Promise<void> {
    const admin = { commonName: 'kubernetes-admin', organization: 'system:masters' };
    this.#admin = await contentOf(await this.#authority.issue('client-admin', admin));
    await this.#clientKubeconfig('admin', admin);
    await this.#clientKubeconfig('controller-manager', { commonName: 'system:kube-controller-manager' });
    await this.#clientKubeconfig('scheduler', { commonName: 'system:kube-scheduler' });
    const text = kubeconfig({ server: this.url, ca: this.#ca, user: { token: await this.#token() } });
    await writeFile(this.bootstrapKubeconfig, text, { mode: 0o600 });
  }

  async #clientKubeconfig(name: string, subject: { commonName: string; organization?: string }): Promise<string> {
    const user = await contentOf(await this.#authority.issue(`client-${name}`, subject));
    const file = this.#places.kubeconfig(name);
    await writeFile(file, kubeconfig({ server: this.url, ca: this.#ca, user }), { mode: 0o600 });
    return file;
  }

  async #token(): Promise<string> {
    const found = await readFile(this.#places.token, 'utf8').catch(() => undefined);
    if (found !== undefined) return found;
    const token = `${randomBytes(3).toString('hex')}.${randomBytes(8).toString('hex')}`;
    await writeFile(this.#places.token, token, { mode: 0o600 });
    return token;
  }

  async #createBootstrapObjects(): Promise<void> {
    for (const { collection, object } of bootstrapObjects(await this.#token())) {
      // The API server itself creates the namespace of some objects shortly after its start.
      await this.#until(`an object in ${collection}`, async () => {
        const { status, text } = await this.request('POST', collection, object);
        if (status === 404) return false;
        if (status < 300 || status === 409) return true;
        throw new Error(`POST ${collection}: ${status}: ${text}`);
      });
    }
  }

  /**
   * Waits until pods can be created: the API server rejects pods until the controllers have created the default service
   * account and the root CA ConfigMap.
   */
  async #untilPodsCanBeCreated(): Promise<void> {
    for (const path of ['serviceaccounts/default', 'configmaps/kube-root-ca.crt']) {
      const url = `/api/v1/namespaces/default/${path}`;
      await this.#until(path, async () => (await this.request('GET', url)).status === 200);
    }
  }

  async #isReady(name: ProcessName): Promise<boolean> {
    const { address, etcdPort, controllerManagerPort, schedulerPort } = this.#prepared;
    const urls = {
      etcd: `https://${address}:${etcdPort}/health`,
      'kube-apiserver': `${this.url}/readyz`,
      'kube-controller-manager': `https://${address}:${controllerManagerPort}/healthz`,
      'kube-scheduler': `https://${address}:${schedulerPort}/readyz`,
    };
    const caller = name === 'etcd' ? this.#etcdCaller : this.admin;
    const answer = caller && (await call(urls[name], caller).catch(() => undefined));
    return answer?.status === 200;
  }

  async #until(what: string, holds: () => Promise<boolean>, watched?: ManagedProcess): Promise<void> {
    const { startTimeoutMs = 60_000 } = this.#options;
    const end = performance.now() + startTimeoutMs;
    while (!(await holds())) {
      if (watched?.hasEnded || performance.now() > end) {
        const how = watched?.hasEnded ? 'process exited' : `timed out after ${startTimeoutMs} ms`;
        throw new Error(`wait for ${what}: ${how}\n${(await watched?.logTail()) ?? ''}`);
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  #process(name: ProcessName, args: readonly string[]): ManagedProcess {
    const { directory, binaries } = this.#options;
    return (
      this.#processes.get(name) ??
      new ManagedProcess({
        file: binaries[name],
        args,
        logFile: this.#places.log(name),
        pidFile: this.#places.pid(name),
        mark: `${directory}/`,
      })
    );
  }

  get #prepared(): Layout {
    if (this.#layout === undefined) throw new Error('the control plane was not started');
    return this.#layout;
  }

  async #savedLayout(): Promise<Layout | undefined> {
    const text = await readFile(this.#places.layout, 'utf8').catch(() => undefined);
    return text === undefined ? undefined : (JSON.parse(text) as Layout);
  }
}

async function newLayout(directory: string, reachableFromPods: boolean, subnet: string | undefined): Promise<Layout> {
  const own = addressesOf(directory);
  const { address } = own;
  const serviceSubnet = subnet ?? own.serviceSubnet;
  const [api = 0, etcd = 0, peer = 0, controllerManager = 0, scheduler = 0] = await freePorts(5, address);
  return {
    address,
    apiAddress: reachableFromPods ? firstAddress(serviceSubnet) : address,
    apiPort: reachableFromPods ? 443 : api,
    etcdPort: etcd,
    etcdPeerPort: peer,
    controllerManagerPort: controllerManager,
    schedulerPort: scheduler,
    serviceSubnet,
  };
}

async function contentOf({ cert, key }: KeyPair): Promise<{ readonly cert: string; readonly key: string }> {
  return { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') };
}
