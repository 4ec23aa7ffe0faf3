import { type Container, MAX_EXPANDED_LENGTH } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import { type EnvironmentContext, makeEnvironment } from '../../src/config/environment.ts';
import { podFieldValue } from '../../src/config/field-path.ts';
import { environmentReferences, type ObjectSource, readEnvironmentObjects } from '../../src/config/object-source.ts';
import { makeContainer, makePod } from './fixtures.ts';

const objects: Record<string, Record<string, string>> = {
  'configMap/cm': { A: 'cm-a', B: 'cm-b' },
  'secret/s': { A: 'secret-a', password: 'hunter2' },
};
const context: EnvironmentContext = {
  podIps: ['10.0.0.5', 'fd00::5'],
  hostIps: ['192.168.0.1', 'fd00::1'],
  nodeAllocatable: { cpu: '3500m', memory: '8Gi', 'ephemeral-storage': '100Gi' },
  objects: (kind, name) => objects[`${kind}/${name}`],
};
const pod = makePod(
  {
    nodeName: 'node-1',
    serviceAccountName: 'robot',
    containers: [makeContainer({ name: 'other', resources: { limits: { cpu: '2' } } })],
    initContainers: [makeContainer({ name: 'init' })],
  },
  { labels: { app: 'web', 'example.com/tier': 'front' }, annotations: { b: 'x"\n', a: 'é\u0001\u200b' } },
);

function environmentOf(
  container: Partial<Container>,
  change: Partial<EnvironmentContext> = {},
): Record<string, string> {
  const variables = makeEnvironment(pod, makeContainer(container), { ...context, ...change });
  return Object.fromEntries(variables.map(({ name, value }) => [name, value]));
}

describe('makeEnvironment', () => {
  it("later declarations of a variable take precedence, env over envFrom, and the container's over service variables", () => {
    const container: Partial<Container> = {
      envFrom: [
        { configMapRef: { name: 'cm' } },
        { prefix: 'S_', secretRef: { name: 's' } },
        { secretRef: { name: 's' } },
      ],
      env: [{ name: 'B', value: 'own' }],
    };
    const services = [
      { name: 'B', value: 'service' },
      { name: 'KUBERNETES_SERVICE_HOST', value: '10.0.0.1' },
    ];
    const variables = makeEnvironment(pod, makeContainer(container), { ...context, services });
    expect(variables).toEqual([
      { name: 'A', value: 'secret-a' },
      { name: 'B', value: 'own' },
      { name: 'S_A', value: 'secret-a' },
      { name: 'S_password', value: 'hunter2' },
      { name: 'password', value: 'hunter2' },
      { name: 'KUBERNETES_SERVICE_HOST', value: '10.0.0.1' },
    ]);
  });

  it('expands references to earlier variables and services, and keeps other references', () => {
    const env = [
      { name: 'LATER', value: '$(DEFINED)' },
      { name: 'DEFINED', value: 'd' },
      { name: 'TWICE', value: '$(DEFINED)$(DEFINED) $(HOST) $$(DEFINED) $(EMPTY)' },
      { name: 'EMPTY' },
    ];
    expect(environmentOf({ env }, { services: [{ name: 'HOST', value: 'h' }] })).toEqual({
      LATER: '$(DEFINED)',
      DEFINED: 'd',
      TWICE: 'dd h $(DEFINED) $(EMPTY)',
      EMPTY: '',
      HOST: 'h',
    });
  });

  it('reads variables from keys, omits missing optional keys, and names missing required ones', () => {
    const from = (valueFrom: object): Partial<Container> => ({ env: [{ name: 'V', valueFrom }] });
    expect(environmentOf(from({ secretKeyRef: { name: 's', key: 'password' } }))).toEqual({ V: 'hunter2' });
    expect(environmentOf(from({ configMapKeyRef: { name: 'cm', key: 'B' } }))).toEqual({ V: 'cm-b' });
    expect(environmentOf(from({ configMapKeyRef: { name: 'cm', key: 'C', optional: true } }))).toEqual({});
    expect(environmentOf(from({ secretKeyRef: { name: 'gone', key: 'C', optional: true } }))).toEqual({});
    expect(environmentOf({ envFrom: [{ configMapRef: { name: 'gone', optional: true } }] })).toEqual({});
    expect(() => environmentOf(from({ configMapKeyRef: { name: 'cm', key: 'toString' } }))).toThrow(
      "couldn't find key toString in ConfigMap default/cm",
    );
    expect(() => environmentOf(from({ secretKeyRef: { name: 's', key: 'C' } }))).toThrow(
      "couldn't find key C in Secret default/s",
    );
    expect(() => environmentOf(from({ secretKeyRef: { name: 'gone', key: 'C' } }))).toThrow('secret "gone" not found');
    expect(() => environmentOf({ envFrom: [{ configMapRef: { name: 'gone' } }] })).toThrow(
      'configmap "gone" not found',
    );
  });

  it('reads variables from files; an empty value counts as missing, which is an error unless the reference is optional', () => {
    const read = (key: string, optional?: boolean): Record<string, string> => {
      const fileKeyRef = { key, path: 'p', volumeName: 'v', ...(optional !== undefined && { optional }) };
      const files = (volume: string, path: string) => (volume === 'v' && path === 'p' ? "A='a'\nB=''\n" : '');
      return environmentOf({ env: [{ name: 'V', valueFrom: { fileKeyRef } }] }, { files });
    };
    expect(read('A')).toEqual({ V: 'a' });
    expect(read('B', true)).toEqual({});
    expect(read('C', true)).toEqual({});
    expect(() => read('B')).toThrow('environment variable key "B" not found in file "p"');
    expect(() => read('C')).toThrow('environment variable key "C" not found in file "p"');
  });

  it('W6: reads an environment file once, however many variables refer to it', () => {
    let reads = 0;
    const files = (): string => {
      reads++;
      return "A='a'\nB='b'\nnonsense\n";
    };
    const keys = ['B', 'A', 'B', 'A'];
    const variables = [...keys, 'C', 'C'].map((key, index) => ({
      name: `V${index}`,
      valueFrom: { fileKeyRef: { key, path: 'p', volumeName: 'v' } },
    }));
    expect(environmentOf({ env: variables.slice(0, keys.length) }, { files })).toEqual({
      V0: 'b',
      V1: 'a',
      V2: 'b',
      V3: 'a',
    });
    expect(reads).toBe(1);
    // The malformed line comes after the requested keys and was not reached. Each request for a key that is not in the
    // lines before it fails.
    expect(() => environmentOf({ env: variables }, { files })).toThrow("at line 3: missing '='");
  });

  it('W3: refuses an environment that would fill the memory when it is expanded', () => {
    const refused = (message: string | RegExp) =>
      expect.objectContaining({ code: 'InvalidSpec', message: expect.stringMatching(message) });
    const doubled = Array.from({ length: 40 }, (_, index) => ({
      name: `V${index}`,
      value: index === 0 ? 'x'.repeat(1000) : `$(V${index - 1})$(V${index - 1})`,
    }));
    expect(() => environmentOf({ env: doubled })).toThrow(
      refused(/^environment variable V14: more than 16777216 characters once variables are expanded$/),
    );
    const large = { configMap: { LARGE: 'x'.repeat(2 ** 20) } };
    const ofLarge: Partial<EnvironmentContext> = { objects: () => large.configMap };
    const told = refused(/^the environment of container app has more than 16777216 characters$/);
    const keys = Array.from({ length: 16 }, (_, index) => ({
      name: `V${index}`,
      valueFrom: { configMapKeyRef: { name: 'cm', key: 'LARGE' } },
    }));
    expect(Object.keys(environmentOf({ env: keys.slice(1) }, ofLarge))).toHaveLength(15);
    expect(() => environmentOf({ env: keys }, ofLarge)).toThrow(told);
    const [all, oneMore] = [MAX_EXPANDED_LENGTH - 'A'.length, MAX_EXPANDED_LENGTH].map((length) => ({
      env: [{ name: 'A', value: 'x'.repeat(length) }],
    }));
    expect(Object.keys(environmentOf({ ...all }))).toEqual(['A']);
    expect(() => environmentOf({ ...oneMore })).toThrow(told);
    const whole = keys.map(({ name }) => ({ prefix: name, configMapRef: { name: 'cm' } }));
    expect(() => environmentOf({ envFrom: whole }, ofLarge)).toThrow(told);
  });

  it.each([
    ['metadata.name', 'web'],
    ['metadata.namespace', 'default'],
    ['metadata.uid', 'uid-1'],
    ['metadata.labels', 'app="web"\nexample.com/tier="front"'],
    ["metadata.labels['example.com/tier']", 'front'],
    ["metadata.labels['absent']", ''],
    ["metadata.annotations['a']", 'é\u0001\u200b'],
    ["metadata.annotations['B']", ''],
    ['metadata.annotations', 'a="é\\x01\\u200b"\nb="x\\"\\n"'],
    ['spec.nodeName', 'node-1'],
    ['spec.host', 'node-1'],
    ['spec.serviceAccountName', 'robot'],
    ['status.podIP', '10.0.0.5'],
    ['status.podIPs', '10.0.0.5,fd00::5'],
    ['status.hostIP', '192.168.0.1'],
    ['status.hostIPs', '192.168.0.1,fd00::1'],
  ])('the variable with fieldRef %s has the value %j', (fieldPath, value) => {
    expect(environmentOf({ env: [{ name: 'V', valueFrom: { fieldRef: { fieldPath } } }] })).toEqual({ V: value });
  });

  it.each([
    ['spec.containers', 'v1', 'field label not supported: spec.containers'],
    ['status.phase', 'v1', 'unsupported fieldPath: status.phase'],
    ["metadata.name['x']", 'v1', "field label does not support subscript: metadata.name['x']"],
    ["metadata.labels['a b']", 'v1', "invalid key subscript in metadata.labels['a b']"],
    ["metadata.labels['A/b']", 'v1', "invalid key subscript in metadata.labels['A/b']"],
    ["metadata.labels['a/b/c']", 'v1', 'invalid key subscript'],
    ['metadata.name', 'v2', 'unsupported pod version: v2'],
  ])('refuses a variable with fieldRef %s of API version %s: %s', (fieldPath, apiVersion, message) => {
    expect(() => podFieldValue(pod, fieldPath, context, apiVersion)).toThrow(message);
  });

  it("refuses status.hostIP if the node's address is unknown", () => {
    expect(() => podFieldValue(pod, 'status.hostIP', { ...context, hostIps: [] })).toThrow('not known');
  });

  const own = { limits: { cpu: '1500m', memory: '100Mi' }, requests: { cpu: '250m', 'hugepages-2Mi': '4Mi' } };
  it.each([
    [{ resource: 'limits.cpu' }, '2'],
    [{ resource: 'limits.cpu', divisor: '1m' }, '1500'],
    [{ resource: 'limits.cpu', divisor: '0' }, '2'],
    [{ resource: 'limits.memory', divisor: '1Mi' }, '100'],
    [{ resource: 'limits.memory', divisor: '1M' }, '105'],
    [{ resource: 'limits.ephemeral-storage', divisor: '1Gi' }, '100'],
    [{ resource: 'requests.cpu', divisor: '1m' }, '250'],
    [{ resource: 'requests.memory' }, '0'],
    [{ resource: 'requests.hugepages-2Mi', divisor: '1Mi' }, '4'],
    [{ resource: 'limits.cpu', containerName: 'other' }, '2'],
    [{ resource: 'limits.memory', containerName: 'other' }, String(8 * 2 ** 30)],
    [{ resource: 'limits.memory', containerName: 'init' }, '0'],
  ])('the variable with resourceFieldRef %j has the value %s', (resourceFieldRef, value) => {
    const env = [{ name: 'V', valueFrom: { resourceFieldRef } }];
    expect(environmentOf({ resources: own, env })).toEqual({ V: value });
  });

  it("resourceFieldRef of a container without a limit shows the pod's limit, if the node has the resource", () => {
    const limited = makePod({ resources: { limits: { cpu: '1', 'ephemeral-storage': '1Gi' } } });
    const read = (resource: string): string | undefined =>
      makeEnvironment(
        limited,
        makeContainer({ env: [{ name: 'V', valueFrom: { resourceFieldRef: { resource } } }] }),
        context,
      )[0]?.value;
    expect(read('limits.cpu')).toBe('1');
    expect(read('limits.ephemeral-storage')).toBe(String(100 * 2 ** 30));
  });

  it.each([
    [{ resource: 'limits.gpu' }, 'unsupported container resource : limits.gpu'],
    [{ resource: 'usage.cpu' }, 'unsupported container resource : usage.cpu'],
    [{ resource: 'limits.cpu', containerName: 'gone' }, 'container gone not found'],
  ])('refuses a variable with resourceFieldRef %j: %s', (resourceFieldRef, message) => {
    expect(() => environmentOf({ env: [{ name: 'V', valueFrom: { resourceFieldRef } }] })).toThrow(message);
  });
});

describe('readEnvironmentObjects', () => {
  const { signal } = new AbortController();
  const container = makeContainer({
    envFrom: [{ configMapRef: { name: 'cm' } }],
    env: [
      { name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
      { name: 'B', valueFrom: { configMapKeyRef: { name: 'cm', key: 'k' } } },
      { name: 'C', value: 'set', valueFrom: { secretKeyRef: { name: 'unused', key: 'k' } } },
    ],
  });

  it('reads each ConfigMap and Secret for the environment once, and decodes Secrets', async () => {
    const asked: string[] = [];
    const source: ObjectSource = {
      getSecret: async (namespace, name) => {
        asked.push(`secret ${namespace}/${name}`);
        return name === 's' ? { data: { k: Buffer.from('päss').toString('base64') } } : undefined;
      },
      getConfigMap: async (namespace, name) => {
        asked.push(`configMap ${namespace}/${name}`);
        return { data: { k: 'text' } };
      },
    };
    const read = await readEnvironmentObjects(pod, container, source, signal);
    expect(asked).toEqual(['configMap default/cm', 'secret default/s']);
    expect(read('configMap', 'cm')).toEqual({ k: 'text' });
    expect(read('secret', 's')).toEqual({ k: 'päss' });
    expect(read('secret', 'cm')).toBeUndefined();
    expect(environmentReferences(makeContainer())).toEqual([]);
  });

  it('without an API server, a container with a Secret or ConfigMap in its environment fails, and one without does not', async () => {
    await expect(readEnvironmentObjects(pod, container, undefined, signal)).rejects.toMatchObject({
      code: 'Unsupported',
      message: expect.stringContaining("couldn't get configMap default/cm, no kubeClient defined"),
    });
    const none = await readEnvironmentObjects(pod, makeContainer(), undefined, signal);
    expect(none('secret', 's')).toBeUndefined();
  });
});
