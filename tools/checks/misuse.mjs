// Programs in plain JavaScript have no type check, so every class that a published package exports must detect misuse:
//   - A missing component or option throws an error with code `InvalidOptions` that names it.
//   - A misspelt option or a value of the wrong type throws the same error.
//   - A second call of `start` throws an error with code `AlreadyStarted`.
// The check learns from the errors themselves what each class needs, so new classes need no entry here.
// Usage: node --conditions=@node-agent/source tools/checks/misuse.mjs [--list] [CLASS]...    --list: one line per class
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, workspaceManifests } from '../bootstrap/toolchain.mjs';
import { entryFiles } from './sources.mjs';

/** Packages whose classes are constructed in only one place, and packages for tests. */
const UNCHECKED_PACKAGES = new Set([
  'kubelet',
  'kubelet-assembly',
  'simulation',
  'fake-cri',
  'fake-apiserver',
  'kubectl-why',
  'nodectl',
]);
/** Classes that take no object of components or options, each with the reason why nothing can be misspelt. */
const UNCHECKED_CLASSES = new Map([
  ['Preemption', 'its package has no dependency on @node-agent/async; its one component is a function'],
  ['CoalescingQueue', 'takes one optional function'],
  ['Channel', 'takes nothing'],
  ['KeyedMutex', 'takes nothing'],
  ['WorkQueue', 'takes an optional clock'],
  ['TaskGroup', 'takes a signal'],
  ['Semaphore', 'takes one number, which it checks'],
  ['TokenBucket', 'takes two numbers, which it checks'],
  ['Receiver', 'abstract'],
  ['Origins', 'created by the configuration decoder'],
  ['Variant', 'a D-Bus value: a signature and a value'],
  ['Reader', 'reads bytes'],
  ['Writer', 'takes nothing'],
  ['MountTable', 'created by functions of its package'],
  ['NewestMountTable', 'created by functions of its package'],
  ['ChangeFeed', 'created by a reflector'],
  ['Quantity', 'created by parseQuantity'],
  ['CpuSet', 'created by its static functions'],
  ['HttpGetUnderWay', 'created by httpGet'],
  ['PodJournal', 'takes numbers'],
  ['StartupLatency', 'created by the kubelet'],
  ['InterfaceList', 'created by a function of its package'],
  ['PodCache', 'takes nothing'],
  ['ProbeResults', 'takes nothing'],
  ['HealthcheckSlis', 'takes an instant'],
  ['ImageVolumePlugin', 'takes nothing'],
  ['PodPaths', 'takes a directory'],
  ['PodManager', 'takes one optional function'],
  ['PullSecrets', 'takes one function'],
  ['NodeDockerConfig', 'takes files'],
  ['SystemdInhibit', 'takes a connection'],
  ['StartOnce', 'takes a name'],
  ['SpdyConnection', 'takes a socket first; its own tests check its options'],
  ['RpcMethods', 'abstract'],
]);
const CANDIDATES = ['/x', 1, {}, [], () => undefined, true, 'client', 'server', 1n, 'unix:///run/x.sock', 'https://h'];

/** Valid options of classes for which the candidates contain no valid value, by class. */
const VALUES = new Map([
  ['Authentication', { anonymous: true }],
  ['ConfiguredCredentials', { cluster: { server: 'https://h' }, user: {} }],
  ['GrpcServer', { socketPath: '/x', services: [] }],
  ['KubeClients', { connection: { cluster: { server: 'https://h' }, user: {} } }],
  ['LoopbackServer', { port: 1, secret: 'x'.repeat(32), name: 'x' }],
  ['NodeTransport', { server: 'https://h' }],
  ['UserNamespaces', { podsDirectory: '/x', range: { firstId: 65_536, length: 65_536 * 16 }, maxPods: 10 }],
]);
/** Classes whose constructor takes the options as first argument. */
const OPTIONS_FIRST = new Set(['GrpcServer']);

const listed = process.argv.includes('--list');
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const faults = [];
let checked = 0;
// Classes are constructed with placeholders as components, so rejections of their later work are ignored.
process.on('unhandledRejection', () => {});
for (const file of workspaceManifests()) {
  const { name, private: isPrivate } = JSON.parse(fs.readFileSync(path.join(root, file), 'utf8'));
  const short = name.replace('@node-agent/', '');
  const directory = path.join(root, path.dirname(file));
  if (isPrivate || UNCHECKED_PACKAGES.has(short) || !fs.existsSync(path.join(directory, 'src/index.ts'))) continue;
  const entry = entryFiles(directory).find((source) => source.endsWith('src/index.ts'));
  for (const [className, exported] of Object.entries(await import(pathToFileURL(entry).href))) {
    if (!isClass(exported) || exported.prototype instanceof Error) continue;
    if (UNCHECKED_CLASSES.has(className) || isTelemetry(short)) continue;
    if (wanted.length > 0 && !wanted.includes(className)) continue;
    checked += 1;
    const found = [];
    const seen = await misuse(exported, (text) => found.push(`${name}: ${className}: ${text}`));
    if (listed) console.log(`${name}: ${className}: ${seen}`);
    faults.push(...found);
  }
}
for (const fault of faults) console.error(fault);
console.log(`${checked} classes checked for misuse, ${faults.length} faults`);
process.exit(faults.length > 0 ? 1 : 0);

/** Registries and loggers take objects of their own types; the type check and their own tests cover them. */
function isTelemetry(short) {
  return short === 'telemetry';
}

function isClass(value) {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));
}

/** Tries each kind of misuse on a class and returns a description of what was tried. */
async function misuse(Exported, fault) {
  const Class = OPTIONS_FIRST.has(Exported.name) ? optionsSecond(Exported) : Exported;
  const components = {};
  const options = { ...VALUES.get(Exported.name) };
  const required = [];
  let made;
  for (let tries = 0; made === undefined; tries += 1) {
    try {
      made = new Class(components, options);
    } catch (error) {
      if (error?.code !== 'InvalidOptions' || tries > 200) {
        fault(`new ${Class.name}(${Object.keys(components)}; ${Object.keys(options)}) fails with ${error}`);
        return 'nothing';
      }
      const { option, message } = error;
      if (!message.includes(option)) fault(`the message does not name ${option}: ${message}`);
      const [missing] = /component \S+ is missing/.exec(message) ?? [];
      if (missing !== undefined) required.push(option);
      if (/component /.test(message)) components[option] = /must be a list/.test(message) ? [] : anyPort();
      else if (!fill(Class, components, options, option)) {
        fault(`no candidate is a valid value of option ${option}: ${message}`);
        return 'nothing';
      }
    }
  }
  for (const values of [[], [null, null]]) {
    const error = thrownBy(() => new Class(...values));
    if (error !== undefined && error.code !== 'InvalidOptions') {
      fault(`new ${Class.name}(${values}) fails with ${error}`);
    }
  }
  const known = misspelt(Class, components, options, fault);
  const starts = await startTwice(made, Class.name, fault);
  return `needs ${required.join(', ') || 'nothing'}; ${known} options${starts ? '; starts once' : ''}`;
}

/**
 * Returns the class with an additional, ignored first argument, so that it can be constructed like all other classes.
 */
function optionsSecond(Exported) {
  const Class = class extends Exported {
    constructor(_components, options) {
      super(options);
    }
  };
  Object.defineProperty(Class, 'name', { value: Exported.name });
  Class.toString = () => String(Exported);
  return Class;
}

/** Sets a required option to a value that the class accepts. Returns whether such a value was found. */
function fill(Class, components, options, option) {
  const before = options[option];
  for (const candidate of CANDIDATES) {
    if (candidate === before) continue;
    options[option] = candidate;
    const error = thrownBy(() => new Class(components, options));
    if (error === undefined || error.option !== option) return true;
  }
  return false;
}

/** Tries an unknown option and, for each known option, a value of the wrong type. Returns the number of known options. */
function misspelt(Class, components, options, fault) {
  const error = thrownBy(() => new Class(components, { ...options, noSuchOption: 1 }));
  // Without an error and without a call of `checkOptions`, the class has no options.
  if (error === undefined && !/checkOptions\(/.test(String(Class))) return 0;
  if (error?.code !== 'InvalidOptions' || error.option !== 'noSuchOption') {
    fault(`the error for a misspelt option does not name it: ${error}`);
    return 0;
  }
  const names = /the options are (.*)$/.exec(error.message)?.[1].split(', ') ?? [];
  for (const name of names) {
    if (new RegExp(`\\b${name}: 'any\\??'`).test(String(Class))) continue;
    const refusal = thrownBy(() => new Class(components, { ...options, [name]: Symbol('none') }));
    if (refusal?.code !== 'InvalidOptions') fault(`option ${name} accepts values of any type: ${refusal}`);
  }
  return names.length;
}

async function startTwice(made, className, fault) {
  if (typeof made.start !== 'function') return false;
  const signal = AbortSignal.abort(new Error('the check has ended'));
  const calls = [0, 1].map(async () => await made.start(signal));
  const outcome = await Promise.race([
    calls[1].then(
      () => 'it resolved',
      (error) => (error?.code === 'AlreadyStarted' ? undefined : String(error)),
    ),
    new Promise((resolve) => setTimeout(resolve, 1000, 'it is still running')),
  ]);
  if (outcome !== undefined) fault(`${className}: a second start does not throw AlreadyStarted: ${outcome}`);
  return true;
}

/** Returns a placeholder for any component: it has every method, and each method returns another placeholder. */
function anyPort() {
  return new Proxy(function port() {}, {
    get: (_, name) => (typeof name === 'symbol' || name === 'then' ? undefined : anyPort()),
    apply: () => anyPort(),
  });
}

function thrownBy(make) {
  try {
    make();
    return undefined;
  } catch (error) {
    return error;
  }
}
