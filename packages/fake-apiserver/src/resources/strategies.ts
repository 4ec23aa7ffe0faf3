import type { FieldError } from '@node-agent/pod-spec';
import { fieldError } from '../core/failure.ts';
import {
  at,
  isObject,
  type JsonObject,
  listAt,
  metadataOf,
  numberAt,
  objectAt,
  same,
  setOrDelete,
  textAt,
} from '../core/json.ts';
import { timestamp } from '../core/time.ts';
import type { Strategy, WriteContext } from './definition.ts';

function defaultsAt(object: JsonObject, path: string, defaults: JsonObject): void {
  const present = objectAt(object, path);
  for (const [key, value] of Object.entries(defaults))
    if (present[key] === undefined || present[key] === '') present[key] = value;
  object[path] = present;
}

const NODE_INFO = [
  'machineID',
  'systemUUID',
  'bootID',
  'kernelVersion',
  'osImage',
  'containerRuntimeVersion',
  'kubeletVersion',
  'kubeProxyVersion',
  'operatingSystem',
  'architecture',
];

export const nodeStrategy: Strategy = {
  setDefaults(node) {
    if (!isObject(node.spec)) node.spec = {};
    const status = objectAt(node, 'status');
    if (status.allocatable === undefined && status.capacity !== undefined) status.allocatable = status.capacity;
    status.daemonEndpoints ??= { kubeletEndpoint: { Port: 0 } };
    const info = objectAt(status, 'nodeInfo');
    status.nodeInfo = { ...Object.fromEntries(NODE_INFO.map((name) => [name, ''])), ...info };
    node.status = status;
  },
  prepareCreate(node) {
    // A new node is not schedulable until it reports that it is ready (admission plug-in TaintNodesByCondition).
    const spec = objectAt(node, 'spec');
    const taints = listAt(spec, 'taints');
    const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
    const known = taints.some((one) => textAt(one, 'key') === taint.key && textAt(one, 'effect') === taint.effect);
    spec.taints = known ? taints : [...taints, taint];
  },
  *validateUpdate(node, old) {
    // The pod CIDR and the provider ID cannot be changed once they are set (`ValidateNodeUpdate`).
    for (const name of ['podCIDR', 'providerID']) {
      const before = textAt(old, 'spec', name);
      if (before !== '' && textAt(node, 'spec', name) !== before) {
        const why = `node updates may not change ${name} except from "" to valid`;
        yield fieldError('Forbidden', `spec.${name}`, why);
      }
    }
  },
};

export const namespaceStrategy: Strategy = {
  setDefaults(namespace) {
    const metadata = metadataOf(namespace);
    metadata.labels = { ...objectAt(metadata, 'labels'), 'kubernetes.io/metadata.name': metadata.name };
    defaultsAt(namespace, 'spec', { finalizers: ['kubernetes'] });
    defaultsAt(namespace, 'status', { phase: 'Active' });
  },
  holdDeletion(namespace) {
    namespace.status = { ...objectAt(namespace, 'status'), phase: 'Terminating' };
  },
};

export const serviceStrategy: Strategy = {
  setDefaults(service) {
    defaultsAt(service, 'spec', { sessionAffinity: 'None', type: 'ClusterIP', internalTrafficPolicy: 'Cluster' });
    for (const port of listAt(service, 'spec', 'ports')) {
      if (!isObject(port)) continue;
      port.protocol ||= 'TCP';
      port.targetPort ||= port.port;
    }
    if (!isObject(service.status)) service.status = { loadBalancer: {} };
  },
  prepareCreate(service, context) {
    const spec = objectAt(service, 'spec');
    service.status = { loadBalancer: {} };
    if (spec.type === 'ExternalName') return;
    spec.clusterIP ||= context.serviceIp();
    spec.clusterIPs ??= [spec.clusterIP];
    spec.ipFamilies ??= ['IPv4'];
    spec.ipFamilyPolicy ??= 'SingleStack';
  },
  prepareUpdate(service, old) {
    const spec = objectAt(service, 'spec');
    for (const name of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) {
      if (!spec[name]) setOrDelete(spec, name, at(old, 'spec', name));
    }
  },
  *validate(service) {
    const { type, clusterIP } = objectAt(service, 'spec');
    if (type !== 'ExternalName' && clusterIP !== 'None' && listAt(service, 'spec', 'ports').length === 0) {
      yield fieldError('Required value', 'spec.ports');
    }
  },
  *validateUpdate(service, old) {
    const [before, after] = [textAt(old, 'spec', 'clusterIP'), textAt(service, 'spec', 'clusterIP')];
    if (before !== '' && after !== before) {
      yield fieldError('Invalid value', 'spec.clusterIPs[0]', 'may not change once set', after);
    }
  },
};

/** Rejects changes of the data of secrets and config maps with `immutable: true` (KEP-1412). */
function* frozenData(object: JsonObject, old: JsonObject, fields: readonly string[]): Generator<FieldError> {
  if (old.immutable !== true) return;
  if (object.immutable !== true)
    yield fieldError('Forbidden', 'immutable', 'field is immutable when `immutable` is set');
  for (const name of fields) {
    if (!same(object[name], old[name]))
      yield fieldError('Forbidden', name, 'field is immutable when `immutable` is set');
  }
}

export const secretStrategy: Strategy = {
  setDefaults(secret) {
    secret.type ||= 'Opaque';
    const texts = objectAt(secret, 'stringData');
    if (Object.keys(texts).length > 0) {
      const data = objectAt(secret, 'data');
      for (const [key, value] of Object.entries(texts)) data[key] = Buffer.from(String(value)).toString('base64');
      secret.data = data;
    }
    delete secret.stringData;
  },
  *validateUpdate(secret, old) {
    if (secret.type !== old.type) yield fieldError('Invalid value', 'type', 'field is immutable', String(secret.type));
    yield* frozenData(secret, old, ['data']);
  },
};

export const configMapStrategy: Strategy = {
  validateUpdate: (configMap, old) => frozenData(configMap, old, ['data', 'binaryData']),
};

export const persistentVolumeStrategy: Strategy = {
  setDefaults(volume) {
    defaultsAt(volume, 'spec', { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' });
    defaultsAt(volume, 'status', { phase: 'Pending' });
  },
  prepareCreate(volume, { nowMs }) {
    volume.status = { phase: 'Pending', lastPhaseTransitionTime: timestamp(nowMs) };
  },
};

export const persistentVolumeClaimStrategy: Strategy = {
  setDefaults(claim) {
    defaultsAt(claim, 'spec', { volumeMode: 'Filesystem' });
    defaultsAt(claim, 'status', { phase: 'Pending' });
  },
  prepareCreate(claim) {
    claim.status = { phase: 'Pending' };
  },
  *validateUpdate(claim, old) {
    const fixed = (of: JsonObject): JsonObject => {
      const { resources: _, volumeAttributesClassName: __, ...rest } = objectAt(of, 'spec');
      // Binding sets the volume name once.
      return textAt(old, 'spec', 'volumeName') === '' ? { ...rest, volumeName: '' } : rest;
    };
    if (!same(fixed(claim), fixed(old))) {
      yield fieldError(
        'Forbidden',
        'spec',
        'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims',
      );
    }
  },
};

export const leaseStrategy: Strategy = {
  *validate(lease) {
    const duration = numberAt(lease, 'spec', 'leaseDurationSeconds');
    if (duration !== undefined && duration <= 0) {
      yield fieldError('Invalid value', 'spec.leaseDurationSeconds', 'must be greater than 0', duration);
    }
    const transitions = numberAt(lease, 'spec', 'leaseTransitions');
    if (transitions !== undefined && transitions < 0) {
      yield fieldError('Invalid value', 'spec.leaseTransitions', 'must be greater than or equal to 0', transitions);
    }
  },
};

const DECISIONS = new Set(['Approved', 'Denied']);

/** Rules of certificate signing requests (`pkg/registry/certificates/certificates/strategy.go`). */
export const csrStrategy: Strategy = {
  nameProblem: pathSegmentProblem,
  setDefaults(csr) {
    if (!isObject(csr.status)) csr.status = {};
  },
  prepareCreate(csr, { user }) {
    const spec = objectAt(csr, 'spec');
    const { name, uid, groups, extra } = user;
    csr.spec = {
      ...spec,
      username: name,
      ...(uid === undefined ? {} : { uid }),
      groups: [...groups],
      ...(extra ? { extra } : {}),
    };
    csr.status = {};
  },
  prepareUpdate(csr, old) {
    csr.spec = old.spec;
  },
  prepareSubresource: {
    approval(csr, old, context) {
      // Only the signer sets the certificate.
      csr.status = { ...objectAt(old, 'status'), conditions: listAt(csr, 'status', 'conditions') };
      stampConditions(csr, old, context);
    },
    status(csr, old, context) {
      const conditions = listAt(csr, 'status', 'conditions');
      const decided = (of: unknown): boolean => DECISIONS.has(textAt(of, 'type'));
      const kept = listAt(old, 'status', 'conditions').filter(decided);
      const status = objectAt(csr, 'status');
      status.conditions = [...kept, ...conditions.filter((one) => !decided(one))];
      csr.status = status;
      stampConditions(csr, old, context);
    },
  },
  *validate(csr) {
    const request = textAt(csr, 'spec', 'request');
    if (request === '' || !Buffer.from(request, 'base64').toString().includes('BEGIN CERTIFICATE REQUEST')) {
      yield fieldError('Invalid value', 'spec.request', 'PEM block type must be CERTIFICATE REQUEST', request);
    }
    if (listAt(csr, 'spec', 'usages').length === 0) yield fieldError('Required value', 'spec.usages');
    if (!textAt(csr, 'spec', 'signerName').includes('/')) {
      const why = 'must be a fully qualified domain and path of the form "example.com/signer-name"';
      yield fieldError('Invalid value', 'spec.signerName', why, textAt(csr, 'spec', 'signerName'));
    }
    const expiration = numberAt(csr, 'spec', 'expirationSeconds');
    if (expiration !== undefined && expiration < 600) {
      yield fieldError(
        'Invalid value',
        'spec.expirationSeconds',
        'may not specify a duration less than 600 seconds (10 minutes)',
        expiration,
      );
    }
  },
  *validateStatus(csr) {
    const types = new Set(listAt(csr, 'status', 'conditions').map((one) => textAt(one, 'type')));
    if (types.has('Approved') && types.has('Denied')) {
      yield fieldError(
        'Invalid value',
        'status.conditions',
        'Approved and Denied conditions are mutually exclusive',
        'Denied',
      );
    }
  },
};

function stampConditions(csr: JsonObject, old: JsonObject, { nowMs }: WriteContext): void {
  const before = listAt(old, 'status', 'conditions');
  const now = timestamp(nowMs);
  const conditions = listAt(csr, 'status', 'conditions').map((one) => {
    const condition = { ...(isObject(one) ? one : {}) };
    const known = before.find(
      (other) => textAt(other, 'type') === condition.type && textAt(other, 'status') === condition.status,
    );
    condition.lastUpdateTime ??= now;
    condition.lastTransitionTime ??= at(known, 'lastTransitionTime') ?? now;
    return condition;
  });
  const status = objectAt(csr, 'status');
  if (conditions.length > 0) status.conditions = conditions;
  else delete status.conditions;
}

/** Rules of kinds whose generation increases with each change of the spec. */
export const generationStrategy: Strategy = {
  prepareCreate(object) {
    metadataOf(object).generation = 1;
  },
  prepareUpdate(object, old) {
    if (!same(object.spec, old.spec)) {
      metadataOf(object).generation = (numberAt(old, 'metadata', 'generation') ?? 0) + 1;
    }
  },
};

export const csiDriverStrategy: Strategy = {
  setDefaults(driver) {
    defaultsAt(driver, 'spec', {
      attachRequired: true,
      podInfoOnMount: false,
      storageCapacity: false,
      fsGroupPolicy: 'ReadWriteOnceWithFSType',
      volumeLifecycleModes: ['Persistent'],
      requiresRepublish: false,
      seLinuxMount: false,
    });
  },
};

/** The API server stores an empty list as an absent one, and returns it as `null`, because Go's field has no `omitempty`. */
export const csiNodeStrategy: Strategy = {
  setDefaults({ spec }) {
    if (!isObject(spec)) return;
    const drivers = listAt(spec, 'drivers');
    spec.drivers = drivers.length === 0 ? null : drivers;
    for (const driver of drivers) {
      if (isObject(driver) && listAt(driver, 'topologyKeys').length === 0) driver.topologyKeys = null;
    }
  },
};

export const storageClassStrategy: Strategy = {
  setDefaults(storageClass) {
    storageClass.reclaimPolicy ??= 'Delete';
    storageClass.volumeBindingMode ??= 'Immediate';
  },
};

export const priorityClassStrategy: Strategy = {
  setDefaults(priorityClass) {
    priorityClass.preemptionPolicy ??= 'PreemptLowerPriority';
  },
  prepareCreate(priorityClass) {
    metadataOf(priorityClass).generation = 1;
  },
  *validateUpdate(priorityClass, old) {
    if (priorityClass.value !== old.value) yield fieldError('Forbidden', 'value', 'may not be changed in an update.');
  },
};

export const runtimeClassStrategy: Strategy = {
  *validate(runtimeClass) {
    if (textAt(runtimeClass, 'handler') === '') yield fieldError('Required value', 'handler');
  },
  *validateUpdate(runtimeClass, old) {
    if (runtimeClass.handler !== old.handler) {
      yield fieldError('Invalid value', 'handler', 'field is immutable', String(runtimeClass.handler));
    }
  },
};

/** Validates a name that may be any path segment. */
export function pathSegmentProblem(name: string): readonly string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  const bad = ['/', '%'].find((character) => name.includes(character));
  return bad === undefined ? [] : [`may not contain '${bad}'`];
}
