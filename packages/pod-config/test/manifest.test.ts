import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keepLastGood, mergeManifests } from '../src/last-good.ts';
import { readManifest } from '../src/manifest.ts';
import { podSchema } from '../src/pod-schema.ts';
import { formatProblem } from '../src/problem.ts';
import type { ManifestOrigin } from '../src/static-pod.ts';
import { bytesOf, manifestOf, podOf } from './helpers.ts';

const origin: ManifestOrigin = { kind: 'file', location: 'web.yaml', nodeName: 'n' };
const read = (content: unknown): { names: string[]; problems: string[] } => {
  const { pods, problems } = readManifest(bytesOf(content), origin, podSchema);
  return { names: pods.map(({ metadata }) => metadata.name), problems: problems.map(formatProblem) };
};

describe('readManifest', () => {
  it.each<[string, unknown, string[]]>([
    ['a Pod', manifestOf('a'), ['a-n']],
    [
      'a PodList, whose items need no kind',
      {
        apiVersion: 'v1',
        kind: 'PodList',
        items: [{ ...manifestOf('a'), apiVersion: undefined, kind: undefined }, manifestOf('b')],
      },
      ['a-n', 'b-n'],
    ],
    ['a List', { apiVersion: 'v1', kind: 'List', items: [manifestOf('a')] }, ['a-n']],
    ['an empty list', { apiVersion: 'v1', kind: 'PodList', items: [] }, []],
    ['a list without items', { apiVersion: 'v1', kind: 'PodList' }, []],
    [
      'many documents',
      [manifestOf('a'), manifestOf('b')].map((pod) => JSON.stringify(pod)).join('\n---\n'),
      ['a-n', 'b-n'],
    ],
  ])('reads pods from %s', (_name, content, names) => {
    expect(read(content)).toEqual({ names, problems: [] });
  });

  it('sets the defaults of the Pod schema and the additional defaults of static pods', () => {
    const [pod] = readManifest(bytesOf(manifestOf('a')), origin, podSchema).pods;
    expect(pod).toMatchObject({ metadata: { name: 'a-n', namespace: 'default' }, spec: { restartPolicy: 'Always' } });
  });

  it.each<[string, unknown, string]>([
    ['no content', '', 'web.yaml: holds no pod'],
    ['only comments', '# soon\n', 'web.yaml: holds no pod'],
    ['a scalar instead of an object', 'hello', 'web.yaml:1:1: is not an object'],
    [
      'the kind Service',
      'apiVersion: v1\nkind: Service\n',
      'web.yaml:2:1: kind: must be "Pod", "PodList" or "List", not "Service"',
    ],
    ['the apiVersion v2', 'apiVersion: v2\nkind: Pod\n', 'web.yaml:1:1: apiVersion: must be "v1", not "v2"'],
    [
      'a Deployment',
      'apiVersion: apps/v1\nkind: Deployment\n',
      'web.yaml:2:1: kind: is "Deployment": a kubelet takes pods only; anything else needs an API server',
    ],
    ['no apiVersion', 'kind: Pod\n', 'web.yaml:1:1: apiVersion: must be "v1", not null'],
    ['no kind', 'apiVersion: v1\n', 'web.yaml:1:1: kind: must be "Pod", "PodList" or "List", not null'],
    [
      'a List of Secrets',
      'apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n',
      'web.yaml:5:3: kind: must be a v1 Pod',
    ],
    [
      'a List whose items have no kind',
      'apiVersion: v1\nkind: List\nitems:\n- metadata: {name: a}\n',
      'web.yaml:4:3: kind: must be a v1 Pod',
    ],
    [
      'a PodList whose items are not objects',
      'apiVersion: v1\nkind: PodList\nitems:\n- 7\n',
      'web.yaml:4:3: is not an object',
    ],
    [
      'a List whose items are no array',
      'apiVersion: v1\nkind: List\nitems: {}\n',
      'web.yaml:3:1: items: must be a list',
    ],
    [
      'a pod without a name',
      'apiVersion: v1\nkind: Pod\nmetadata:\n  labels: {}\nspec: {}\n',
      'web.yaml:3:1: metadata.name: name is needed for the pod',
    ],
    [
      'a pod with an empty name',
      'apiVersion: v1\nkind: Pod\nmetadata: {name: ""}\nspec: {}\n',
      'web.yaml:3:12: metadata.name: name is needed for the pod',
    ],
    [
      'a pod without a spec',
      'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n',
      'web.yaml:1:1: spec.containers: Required value',
    ],
    [
      'a pod whose UID is no valid directory name',
      { ...manifestOf('a'), metadata: { name: 'a', uid: '../../x' } },
      'web.yaml:1:56: metadata.uid: must be usable as the name of a directory',
    ],
    [
      'a pod that fails API validation',
      'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: x\n    image:\n',
      'web.yaml:7:5: spec.containers[0].image: Required value',
    ],
    [
      'a mirror pod',
      { ...manifestOf('a'), metadata: { name: 'a', annotations: { 'kubernetes.io/config.mirror': 'x' } } },
      'web.yaml:1:71: metadata.annotations[kubernetes.io/config.mirror]: must not be a mirror pod',
    ],
    [
      'a pod that refers to a Secret',
      { ...manifestOf('a'), spec: { imagePullSecrets: [{ name: 's' }], containers: [{ name: 'c', image: 'i' }] } },
      'web.yaml:1:65: spec.imagePullSecrets: static pods may not reference secrets',
    ],
  ])('W3: refuses a manifest with %s, with the position of the problem', (_name, content, problem) => {
    expect(read(content)).toEqual({ names: [], problems: [problem] });
  });

  it('accepts a pod with a duplicate key, uses the last value, and adds a warning', () => {
    const text =
      'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  hostNetwork: true\n  hostNetwork: false\n  containers: [{name: c, image: i}]\n';
    const { pods, problems } = readManifest(bytesOf(text), origin, podSchema);
    expect(pods.map(({ spec }) => spec.hostNetwork)).toEqual([false]);
    expect(problems).toEqual([
      { source: 'web.yaml', line: 6, column: 3, message: expect.stringMatching(/^duplicate key/), isWarning: true },
    ]);
  });

  it('lists at most 50 problems and 50 warnings of a manifest, and the number of the rest', () => {
    const broken = Array.from({ length: 60 }, () => 'kind: Pod');
    const fields = Array.from({ length: 55 }, (_, index) => `later${index}: 1`).join('\n');
    const text = [`${JSON.stringify(manifestOf('a'))}`, ...broken].join('\n---\n');
    const listed = read(text);
    expect(listed.names).toEqual(['a-n']);
    expect(listed.problems).toHaveLength(51);
    expect(listed.problems.at(-1)).toBe('web.yaml: 10 more problems are not listed');
    const pod = `apiVersion: v1\nkind: Pod\n${fields}\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i}]}\n`;
    const { pods, problems } = readManifest(bytesOf(pod), origin, podSchema);
    expect(pods).toHaveLength(1);
    expect(problems).toHaveLength(51);
    expect(problems.at(-1)).toEqual({
      source: 'web.yaml',
      message: '5 more warnings are not listed',
      isWarning: true,
    });
  });

  it('refuses a manifest whose only error comes after more warnings than are listed', () => {
    const fields = Array.from({ length: 80 }, (_, index) => `later${index}: 1`).join('\n');
    const text = `apiVersion: v1\nkind: Pod\n${fields}\nmetadata: {name: a}\nspec: {containers: [{name: C, image: i}]}\n`;
    const { pods, problems } = readManifest(bytesOf(text), origin, podSchema);
    expect(pods).toEqual([]);
    expect(problems.filter(({ isWarning }) => isWarning !== true)).toHaveLength(1);
  });

  it('drops unknown fields of a manifest and warns about each with a suggestion', () => {
    const text = (more: string): string =>
      `apiVersion: v1\nkind: Pod\nspce: {}\nmetadata: {name: a}\nspec:\n  RestartPolicy: Never\n  containers: [{name: c, image: i, imag: j}]\n${more}`;
    const { pods, problems } = readManifest(bytesOf(text('')), origin, podSchema);
    expect(pods.map(({ spec }) => spec)).toMatchObject([{ restartPolicy: 'Always', containers: [{ image: 'i' }] }]);
    expect(JSON.stringify(pods)).not.toMatch(/spce|RestartPolicy|"imag"/);
    expect(problems.map(formatProblem)).toEqual([
      'web.yaml:3:1: spce: Unknown field: did you mean "spec"?',
      'web.yaml:6:3: spec.RestartPolicy: Unknown field: did you mean "restartPolicy"?',
      'web.yaml:7:36: spec.containers[0].imag: Unknown field: did you mean "image"?',
    ]);
    expect(problems.every(({ isWarning }) => isWarning)).toBe(true);
    const single = readManifest(bytesOf({ ...manifestOf('a'), spce: {} }), origin, podSchema);
    expect(single.pods).toHaveLength(1);
    expect(JSON.stringify(single.pods)).not.toContain('spce');
    const broken = readManifest(bytesOf(text('  hostNetwork: "yes"\n')), origin, podSchema);
    expect(broken.pods).toEqual([]);
    expect(broken.problems.filter(({ isWarning }) => !isWarning).map(formatProblem)).toEqual([
      'web.yaml:8:3: spec.hostNetwork: Invalid value: "yes": must be true or false',
    ]);
  });

  it.each(['utf-16le', 'utf-16be'])('reads a manifest in %s that begins with a byte order mark', (encoding) => {
    const little = Buffer.from(`\uFEFF${JSON.stringify(manifestOf('a'))}`, 'utf16le');
    const bytes = encoding === 'utf-16le' ? little : Buffer.from(little).swap16();
    expect(readManifest(bytes, origin, podSchema).pods.map(({ metadata }) => metadata.name)).toEqual(['a-n']);
  });

  it('treats a null field of a manifest as absent and a null list item as an error', () => {
    const text = (containers: string): string =>
      `apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: ~, labels:}\nspec:\n  tolerations:\n  containers: ${containers}\n`;
    const [pod] = readManifest(bytesOf(text('[{name: c, image: i, command: }]')), origin, podSchema).pods;
    expect(pod?.metadata).not.toHaveProperty('labels');
    expect(pod).toMatchObject({ metadata: { namespace: 'default' }, spec: { tolerations: [{ effect: 'NoExecute' }] } });
    expect(read(text('[~]')).problems).toEqual([
      'web.yaml:6:16: spec.containers[0]: Invalid value: null: must be an object',
    ]);
  });

  it('W3: refuses a manifest that is not valid UTF-8', () => {
    // The first half of the UTF-16 byte order mark is not a byte order mark.
    for (const bytes of [
      [0x61, 0xff, 0xfe],
      [0xff, 0],
      [0xfe, 0],
      [0, 0xfe],
      [0, 0xff],
    ]) {
      const { problems } = readManifest(new Uint8Array(bytes), origin, podSchema);
      expect(problems.map(formatProblem)).toEqual(['web.yaml: is not UTF-8 text']);
    }
  });

  it('returns the valid pods of a manifest with a broken document', () => {
    const { names, problems } = read(
      `${JSON.stringify(manifestOf('a'))}\n---\nb: [\n---\n${JSON.stringify(manifestOf('c'))}\n`,
    );
    expect(names).toEqual(['a-n', 'c-n']);
    expect(problems).toHaveLength(1);
  });

  it('W3: readManifest never throws, for any JSON', () => {
    const shape = fc.record(
      {
        apiVersion: fc.oneof(fc.constant('v1'), fc.jsonValue()),
        kind: fc.constantFrom('Pod', 'PodList', 'List', 7),
        metadata: fc.oneof(fc.constant({ name: 'x' }), fc.jsonValue()),
        spec: fc.oneof(fc.constant({ containers: [] }), fc.constant(null)),
        items: fc.array(fc.jsonValue(), { maxLength: 3 }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(shape, (value) => {
        const { names, problems } = read(value);
        expect(names.length + problems.length).toBeGreaterThanOrEqual(
          value.items?.length && value.kind !== 'Pod' ? 1 : 0,
        );
      }),
    );
  });
});

it('formatProblem includes the known parts of the position', () => {
  const problem = { source: 'web.yaml', message: 'wrong' };
  expect(formatProblem(problem)).toBe('web.yaml: wrong');
  expect(formatProblem({ ...problem, line: 3 })).toBe('web.yaml:3: wrong');
  expect(formatProblem({ ...problem, line: 3, column: 7, field: 'kind' })).toBe('web.yaml:3:7: kind: wrong');
});

describe('keepLastGood', () => {
  const [a, b, b2] = [podOf({ uid: 'a', name: 'a' }), podOf({ uid: 'b', name: 'b' }), podOf({ uid: 'b2', name: 'b' })];
  const problems = [{ source: 'x', message: 'broken' }];

  it('F2: keepLastGood keeps earlier pods that are missing from an invalid manifest', () => {
    expect(keepLastGood({ pods: [a, b], problems: [] }, { pods: [b2], problems }).pods).toEqual([b2, a]);
    expect(keepLastGood({ pods: [a, b], problems: [] }, { pods: [], problems }).pods).toEqual([a, b]);
  });

  it('keepLastGood returns a valid manifest unchanged', () => {
    expect(keepLastGood({ pods: [a, b], problems }, { pods: [a], problems: [] })).toEqual({ pods: [a], problems: [] });
  });

  it('keepLastGood returns a manifest with only warnings unchanged', () => {
    const warnings = [{ source: 'x', message: 'newer', isWarning: true as const }];
    expect(keepLastGood({ pods: [a, b], problems }, { pods: [b2], problems: warnings }).pods).toEqual([b2]);
  });

  it('keepLastGood returns the valid pods of an invalid manifest if there is no earlier version', () => {
    expect(keepLastGood(undefined, { pods: [a], problems }).pods).toEqual([a]);
  });
});

describe('mergeManifests', () => {
  it('mergeManifests keeps the pod of the first file name if two manifests have pods of one name', () => {
    const [first, second] = [podOf({ uid: 'a', name: 'web' }), podOf({ uid: 'b', name: 'web' })];
    const { pods, problems } = mergeManifests(
      new Map([
        ['b.yaml', { pods: [second], problems: [] }],
        ['a.yaml', { pods: [first], problems: [] }],
      ]),
    );
    expect(pods).toEqual([first]);
    expect(problems.map(formatProblem)).toEqual([
      'b.yaml: metadata.name: pod web_default is ignored: a.yaml has a pod of the same name web_default',
    ]);
  });

  it('mergeManifests keeps the first of two pods with one UID', () => {
    const [first, second] = [podOf({ uid: 'u', name: 'web' }), podOf({ uid: 'u', name: 'db' })];
    const { pods, problems } = mergeManifests(new Map([['a.yaml', { pods: [first, second], problems: [] }]]));
    expect(pods).toEqual([first]);
    expect(problems.map(formatProblem)).toEqual([
      'a.yaml: metadata.uid: pod db_default is ignored: a.yaml has a pod of the same uid u',
    ]);
  });
});
