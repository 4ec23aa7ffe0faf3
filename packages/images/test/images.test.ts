import { FakeClock } from '@node-agent/async/testing';
import { CriError, type Init, type PodSandboxConfig, type PullImageRequest } from '@node-agent/cri-client';
import { CONFIG_SEEN_ANNOTATION, type Pod } from '@node-agent/pod-spec';
import { noMetrics, type ObjectReference, silentLogger } from '@node-agent/telemetry';
import { describe, expect, test } from 'vitest';
import { ImageError, type ImageErrorCode } from '../src/errors.ts';
import { ImageManager, type ImageManagerOptions, type PullRecords } from '../src/image-manager.ts';
import { sizeBucket } from '../src/image-name.ts';
import { decidePull } from '../src/pull-policy.ts';

type PullImage = (image: string, signal: AbortSignal | undefined, auth: string | undefined) => Promise<string>;

/** Records that let every pod use every image that exists. */
const noRecords: PullRecords = {
  mustPull: async () => false,
  intent: async () => {},
  pulled: async () => {},
  failed: async () => {},
};

function setUp(options: ImageManagerOptions = {}, records?: PullRecords) {
  const clock = new FakeClock();
  const present = new Map<string, number>();
  const events: string[] = [];
  const about: ObjectReference[] = [];
  const pulls: string[] = [];
  const pulledFor: (string | undefined)[] = [];
  const ended: [string, number][] = [];
  const state = {
    pull: (async (image) => `ref-${image}`) as PullImage,
    inspect: async (): Promise<void> => {},
    auths: [] as string[],
  };
  const image = (size: number | undefined, name: string) =>
    size === undefined
      ? null
      : { id: `id-${name}`, repoTags: [], repoDigests: [], size, uid: null, username: '', spec: null, pinned: false };
  const manager = new ImageManager(
    {
      images: {
        imageStatus: async (request) => {
          await state.inspect();
          const name = request.image?.image ?? '';
          return { image: image(present.get(name), name), info: {} };
        },
        pullImage: async (request: Partial<PullImageRequest> | object, signal) => {
          const { image: spec, auth, sandboxConfig } = request as PullImageRequest;
          const name = spec?.image ?? '';
          pulls.push(name);
          pulledFor.push(sandboxConfig?.metadata?.namespace);
          const imageRef = await state.pull(name, signal, auth?.username);
          present.set(name, 5_000_000);
          return { imageRef };
        },
      },
      clock,
      logger: silentLogger,
      metrics: noMetrics,
      recorder: {
        event(object, type, reason, message) {
          about.push(object);
          events.push(`${type} ${reason} ${message}`);
        },
      },
      credentials: { lookup: async () => state.auths.map((username) => ({ username })) },
      ...(records && { records }),
      onPull: (podUid, startedAtMs, endedAtMs) => void ended.push([podUid, endedAtMs - startedAtMs]),
    },
    options,
  );
  const ensure = (name: string, uid = 'u1', imagePullPolicy?: string, signal = new AbortController().signal) => {
    const pod: Pod = { metadata: { name: 'web', namespace: 'default', uid }, spec: { containers: [{ name: 'main' }] } };
    const container = { name: 'main', image: name, ...(imagePullPolicy && { imagePullPolicy }) };
    return manager.ensureImageExists(pod, container, {}, '', signal);
  };
  /** Ensures the image for a pod with this UID, namespace and annotations, and its sandbox configuration. */
  const ensureFor = (uid: string, namespace: string, annotations: Record<string, string>) => {
    const metadata = { name: uid, namespace, uid, annotations };
    const sandbox: Init<PodSandboxConfig> = { metadata: { name: uid, namespace, uid }, annotations };
    const container = { name: 'main', image: 'app:1', imagePullPolicy: 'Always' };
    const pod = { metadata, spec: { containers: [{ name: 'main' }] } };
    return manager.ensureImageExists(pod, container, sandbox, '', new AbortController().signal);
  };
  return { manager, ensure, ensureFor, clock, present, events, about, pulls, pulledFor, state, ended };
}

const code = async (failing: Promise<unknown>): Promise<ImageErrorCode | undefined> => {
  const error = await failing.then(
    () => undefined,
    (err: unknown) => err,
  );
  return error instanceof ImageError ? error.code : undefined;
};

test('N4: an image is in use while it is looked up or pulled, and for 2 min after it was found', async () => {
  const { manager, ensure, clock, state } = setUp();
  const bad = ensure('bad', 'u2', 'Never').catch(() => {});
  expect(manager.demanded()).toEqual(['bad']);
  await bad;
  expect(manager.demanded()).toEqual([]);
  state.pull = async (image) => {
    await clock.advance(600_000);
    expect(manager.demanded()).toEqual(['app']);
    return image;
  };
  await ensure('app');
  await clock.advance(119_999);
  expect(manager.demanded()).toEqual(['app']);
  await clock.advance(1);
  expect(manager.demanded()).toEqual([]);
});

test('onPull is called after each pull for a pod, successful or not, but not for an image that is already on the node', async () => {
  const { ensure, clock, state, ended } = setUp();
  state.pull = async (image) => {
    await clock.advance(2000);
    if (image.includes('bad')) throw new Error('no such image');
    return image;
  };
  await ensure('good:1');
  await ensure('good:1', 'u2');
  await expect(ensure('bad:1', 'u3')).rejects.toThrow('no such image');
  expect(ended).toEqual([
    ['u1', 2000],
    ['u3', 2000],
  ]);
});

test.each([
  ['Always', true, false, 'pull'],
  ['IfNotPresent', true, false, 'use'],
  ['IfNotPresent', false, false, 'pull'],
  ['IfNotPresent', true, true, 'pull'],
  ['Never', true, false, 'use'],
  ['Never', false, false, 'refuse'],
  ['Never', true, true, 'refuse'],
] as const)(
  'with pull policy %s, image present: %s, verification required: %s, the image manager decides: %s',
  (policy, present, mustVerify, expected) => {
    expect(decidePull(policy, present, mustVerify)).toBe(expected);
  },
);

test('events about the image of an image volume refer to the pod', async () => {
  const { manager, about } = setUp();
  const pod: Pod = { metadata: { name: 'web', namespace: 'default', uid: 'u1' }, spec: { containers: [] } };
  await manager.ensureImageExists(pod, { image: 'data:1' }, {}, '', new AbortController().signal);
  expect(about.map(({ name, fieldPath }) => [name, fieldPath])).toEqual([
    ['web', undefined],
    ['web', undefined],
  ]);
});

describe('events and errors for users', () => {
  test.each([
    ['with verification of access', noRecords, ' and can be accessed by the pod'],
    ['without verification of access', undefined, ''],
  ])('records a Pulled event for an image that is already on the node: %s', async (_name, records, more) => {
    const { ensure, present, events, pulls } = setUp({}, records);
    present.set('app:1', 1);
    expect(await ensure('app:1')).toEqual({ imageRef: 'id-app:1' });
    expect(pulls).toEqual([]);
    expect(events).toEqual([`Normal Pulled Container image "app:1" already present on machine${more}`]);
  });

  test.each([
    [0, '0s'],
    [1_250, '1.25s'],
    [72_500, '1m12.5s'],
  ])(
    'the Pulled event has the size of the image and the duration of the pull: %d ms is shown as %s',
    async (tookMs, text) => {
      const { ensure, events, state, clock } = setUp();
      state.pull = async (image) => {
        await clock.advance(tookMs);
        return `ref-${image}`;
      };
      expect(await ensure('app')).toEqual({ imageRef: 'ref-app:latest' });
      expect(events).toEqual([
        'Normal Pulling Pulling image "app"',
        `Normal Pulled Successfully pulled image "app" in ${text} (${text} including waiting). Image size: 5000000 bytes.`,
      ]);
    },
  );

  test('rejects an invalid image name without calling the runtime, and quotes the name in the event', async () => {
    const { ensure, pulls, events } = setUp();
    expect(await code(ensure('UPPER "CASE'))).toBe('InvalidImageName');
    expect(pulls).toEqual([]);
    expect(events).toEqual([
      'Warning InspectFailed Failed to apply default image tag "UPPER \\"CASE": ' +
        'couldn\'t parse image name "UPPER \\"CASE": invalid reference format: repository name (library/UPPER "CASE) must be lowercase',
    ]);
  });

  test('does not pull an image with policy Never', async () => {
    const { ensure, events } = setUp();
    expect(await code(ensure('app:1', 'u1', 'Never'))).toBe('ErrImageNeverPull');
    expect(events[0]).toBe(
      'Warning ErrImageNeverPull Container image "app:1" is not present with pull policy of Never',
    );
  });

  test('fails with ImageInspectError if the runtime cannot report whether the image is on the node', async () => {
    const { ensure, state, events } = setUp();
    state.inspect = () => Promise.reject(new Error('no space left'));
    expect(await code(ensure('app:1'))).toBe('ImageInspectError');
    // As upstream, the message contains the resolved image reference, which is empty here.
    expect(events).toEqual(['Warning InspectFailed Failed to inspect image "": no space left']);
  });

  test("a pull succeeds if the runtime does not report the image's size afterwards", async () => {
    const { ensure, state, events, pulls } = setUp();
    state.auths = ['one', 'two'];
    state.inspect = () => Promise.reject(new Error('deadline exceeded'));
    expect(await ensure('app:1', 'u1', 'Always')).toEqual({ imageRef: 'ref-app:1' });
    expect(pulls).toEqual(['app:1']);
    expect(events.at(-1)).toBe(
      'Normal Pulled Successfully pulled image "app:1" in 0s (0s including waiting). Image size: 0 bytes.',
    );
  });

  test.each([
    ['RegistryUnavailable: connection refused', 'RegistryUnavailable'],
    ['SignatureValidationFailed: no signature', 'SignatureValidationFailed'],
    ['not found', 'ErrImagePull'],
    ['failed to resolve "r/RegistryUnavailable:1": not found', 'ErrImagePull'],
  ] as const)('maps the runtime error %s to the reason %s by the start of its message', async (message, expected) => {
    const { ensure, state } = setUp();
    for (const cause of [new Error(message), new CriError({ rpc: 'PullImage', code: 'UNKNOWN', details: message })]) {
      state.pull = () => Promise.reject(cause);
      expect(await code(ensure('app:1', cause.name))).toBe(expected);
    }
  });

  test('a failed pull gets the generic reason if its message has a known reason behind another gRPC code', async () => {
    const { ensure, state } = setUp();
    const details = 'RegistryUnavailable: connection refused';
    state.pull = () => Promise.reject(new CriError({ rpc: 'PullImage', code: 'UNAVAILABLE', details }));
    await expect(ensure('app:1')).rejects.toMatchObject({
      code: 'ErrImagePull',
      message: `rpc error: code = Unavailable desc = ${details}`,
    });
  });

  test.each([
    ['UNKNOWN', 'no such host'],
    ['NOT_FOUND', 'rpc error: code = NotFound desc = no such host'],
  ] as const)(
    'the event of a failed pull shows the gRPC code %s unless the code is UNKNOWN',
    async (errorCode, message) => {
      const { ensure, state, events } = setUp();
      const details = 'no such host';
      state.pull = () => Promise.reject(new CriError({ rpc: 'PullImage', code: errorCode, details }));
      await expect(ensure('app:1')).rejects.toMatchObject({ code: 'ErrImagePull', message });
      expect(events.at(-1)).toBe(`Warning Failed Failed to pull image "app:1": ${message}`);
    },
  );
});

describe('back-off after failed pulls', () => {
  test('the back-off after failed pulls doubles from 10 s to 300 s, and meanwhile the previous error is returned', async () => {
    const { ensure, state, clock, pulls } = setUp();
    state.pull = () => Promise.reject(new Error('not found'));
    // Without a retry time: the next sync comes before the next pull, and reports the back-off.
    await expect(ensure('app:1')).rejects.toMatchObject({ code: 'ErrImagePull', retryAtMs: undefined });
    await expect(ensure('app:1')).rejects.toMatchObject({
      code: 'ImagePullBackOff',
      message: 'Back-off pulling image "app:1": ErrImagePull: not found',
      retryAtMs: 10_000,
    });
    for (const delayMs of [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]) {
      await clock.advance(delayMs - 1);
      expect(await code(ensure('app:1'))).toBe('ImagePullBackOff');
      await clock.advance(1);
      expect(await code(ensure('app:1'))).toBe('ErrImagePull');
    }
    expect(pulls).toHaveLength(8);
  });

  test('the back-off after failed pulls grows once per failed pull, however many containers of the pod waited for the pull', async () => {
    const { ensure, state, clock } = setUp();
    state.pull = async () => {
      await clock.advance(1000);
      throw new Error('no such image');
    };
    const together = (): Promise<unknown> => Promise.allSettled(['u1', 'u1', 'u1'].map((uid) => ensure('app:1', uid)));
    for (const backOffMs of [10_000, 20_000, 40_000]) {
      await together();
      await clock.advance(backOffMs - 1);
      expect(await code(ensure('app:1'))).toBe('ImagePullBackOff');
      await clock.advance(1);
    }
    expect(await code(ensure('app:1'))).toBe('ErrImagePull');
  });

  test('the back-off after failed pulls is reset by ten minutes without a failure, but not by a successful pull', async () => {
    const { ensure, state, clock } = setUp();
    const fail = async (): Promise<void> => {
      state.pull = () => Promise.reject(new Error('not found'));
      expect(await code(ensure('app:1', 'u1', 'Always'))).toBe('ErrImagePull');
    };
    await fail();
    await clock.advance(10_000);
    state.pull = async (image) => image;
    await ensure('app:1', 'u1', 'Always');
    await fail();
    await clock.advance(19_999);
    expect(await code(ensure('app:1', 'u1', 'Always'))).toBe('ImagePullBackOff');
    await clock.advance(580_002);
    await fail();
    await clock.advance(10_000);
    await fail();
  });

  test('the back-off after failed pulls applies to one pod and one image, and ends after its time', async () => {
    const { ensure, state, clock } = setUp();
    state.pull = () => Promise.reject(new Error('not found'));
    await code(ensure('app:1'));
    expect(await code(ensure('app:1', 'u2'))).toBe('ErrImagePull');
    expect(await code(ensure('app:2'))).toBe('ErrImagePull');
    state.pull = async (image) => image;
    await clock.advance(10_000);
    await ensure('app:1');
    state.pull = () => Promise.reject(new Error('not found'));
    expect(await code(ensure('app:1', 'u1', 'Always'))).toBe('ErrImagePull');
  });

  test('a pull that was aborted because its pod was deleted starts no back-off', async () => {
    const { ensure, state } = setUp();
    const controller = new AbortController();
    state.pull = (_image, signal) =>
      new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    const pull = ensure('app:1', 'u1', undefined, controller.signal);
    controller.abort(new Error('pod is gone'));
    await expect(pull).rejects.toThrow('pod is gone');
    state.pull = async (image) => image;
    expect(await ensure('app:1')).toEqual({ imageRef: 'app:1' });
  });
});

describe('concurrent pulls', () => {
  /** Pulls that end when the test ends them. */
  function gated() {
    const waiting: (() => void)[] = [];
    const pull: PullImage = (image, signal) =>
      new Promise((resolve, reject) => {
        waiting.push(() => resolve(image));
        signal?.addEventListener('abort', () => reject(signal.reason));
      });
    return { waiting, pull };
  }

  test('concurrent requests for one image share one pull', async () => {
    const { ensure, state, pulls, clock } = setUp();
    const { waiting, pull } = gated();
    state.pull = pull;
    const both = [ensure('app:1', 'u1'), ensure('app:1', 'u2')];
    await clock.settle();
    waiting.splice(0).forEach((end) => void end());
    expect(await Promise.all(both)).toEqual([{ imageRef: 'app:1' }, { imageRef: 'app:1' }]);
    expect(pulls).toEqual(['app:1']);
  });

  test('one image is pulled once per namespace, because a runtime may allow it to only one of them', async () => {
    const { ensureFor, state, pulledFor } = setUp();
    state.pull = async (image) => {
      if (pulledFor.at(-1) === 'strict') throw new Error('SignatureValidationFailed: no signature');
      return image;
    };
    const [lax, strict] = [ensureFor('u1', 'lax', {}), ensureFor('u2', 'strict', {})];
    expect(await code(strict)).toBe('SignatureValidationFailed');
    expect(await lax).toEqual({ imageRef: 'app:1' });
    expect(pulledFor).toEqual(['lax', 'strict']);
  });

  test.each([
    ['the same annotations in another order', { a: '1', b: '2' }, { b: '2', a: '1' }, 1],
    [
      'the same annotations, but other config.seen times',
      { [CONFIG_SEEN_ANNOTATION]: '1' },
      { [CONFIG_SEEN_ANNOTATION]: '2' },
      1,
    ],
    ['other annotations', { a: '1' }, { a: '2' }, 2],
    ['annotations of only one pod', { a: '1' }, {}, 2],
  ])('two requests of pods in one namespace with %s cause $3 pulls', async (_what, one, other, expected) => {
    const { ensureFor, pulls } = setUp();
    await Promise.all([ensureFor('u1', 'default', { ...one }), ensureFor('u2', 'default', { ...other })]);
    expect(pulls).toHaveLength(expected);
  });

  test('continues a shared pull as long as one requester waits for it', async () => {
    const { ensure, state, clock } = setUp();
    const { waiting, pull } = gated();
    state.pull = pull;
    const controller = new AbortController();
    const first = ensure('app:1', 'u1', undefined, controller.signal);
    const second = ensure('app:1', 'u2');
    await clock.settle();
    controller.abort(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    waiting.splice(0).forEach((end) => void end());
    expect(await second).toEqual({ imageRef: 'app:1' });
  });

  test.each([
    ['all without a limit', {}, 3],
    ['two with maxParallel 2', { maxParallel: 2 }, 2],
    ['one with serialized pulls', { serialize: true }, 1],
  ])('C7: image pulls run in parallel: %s', async (_name, options, expected) => {
    const { ensure, state, pulls, clock } = setUp(options);
    const { waiting, pull } = gated();
    state.pull = pull;
    const all = ['a:1', 'b:1', 'c:1'].map((image) => ensure(image));
    await clock.settle();
    expect(pulls).toHaveLength(expected);
    while (waiting.length > 0) {
      waiting.shift()?.();
      await clock.settle();
    }
    expect(await Promise.all(all)).toHaveLength(3);
  });

  test('C7: with serialized pulls, a pod with many images delays another pod by at most one of its pulls', async () => {
    const { ensure, state, pulls, clock } = setUp({ serialize: true });
    const { waiting, pull } = gated();
    state.pull = pull;
    const gone = new AbortController();
    const many = ['a:1', 'b:1', 'c:1', 'd:1', 'e:1'].map((image) => ensure(image, 'many'));
    const left = ensure('left:1', 'left', undefined, gone.signal);
    const others = [ensure('x:1', 'one'), ensure('y:1', 'two'), ensure('z:1', 'one')];
    // A pull that another container also waits for is as urgent as that container's pull.
    others.push(ensure('e:1', 'three'));
    await clock.settle();
    gone.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    while (waiting.length > 0) {
      waiting.shift()?.();
      await clock.settle();
    }
    expect(pulls).toEqual(['a:1', 'e:1', 'x:1', 'y:1', 'b:1', 'z:1', 'c:1', 'd:1']);
    expect(await Promise.all([...many, ...others])).toHaveLength(9);
  });

  test('C7: with serialized pulls, a waiting pod gets its turn however many pulls of other pods arrive', async () => {
    const { ensure, state, pulls, clock } = setUp({ serialize: true });
    const { waiting, pull } = gated();
    state.pull = pull;
    const all = [ensure('a:1', 'A'), ensure('a:2', 'A')];
    await clock.settle();
    for (let n = 0; n < 4; n++) {
      all.push(ensure(`n${n}:1`, `n${n}`));
      await clock.settle();
      waiting.shift()?.();
      await clock.settle();
    }
    expect(pulls).toEqual(['a:1', 'n0:1', 'a:2', 'n1:1', 'n2:1']);
    for (let left = 3; left > 0; left--) {
      waiting.shift()?.();
      await clock.settle();
    }
    expect(await Promise.all(all)).toHaveLength(6);
  });

  test('C7: with a rate limit, a pod with many images delays another pod by at most one of its pulls', async () => {
    const { ensure, clock, pulls } = setUp({ qps: 1, burst: 1 });
    const all = ['a:1', 'b:1', 'c:1', 'd:1'].map((image) => ensure(image, 'many'));
    await clock.settle();
    all.push(ensure('x:1', 'one'), ensure('y:1', 'one'));
    for (let turn = 0; turn < 5; turn++) await clock.advance(1000);
    expect(pulls).toEqual(['a:1', 'b:1', 'x:1', 'c:1', 'y:1', 'd:1']);
    expect(await Promise.all(all)).toHaveLength(6);
  });

  test('aborts a pull when its last requester has aborted, and starts a new pull for the next request', async () => {
    const { ensure, state, clock, pulls } = setUp();
    const signals: (AbortSignal | undefined)[] = [];
    state.pull = (image, signal) => {
      signals.push(signal);
      return signals.length > 1 ? Promise.resolve(image) : new Promise(() => {});
    };
    const [one, other] = [new AbortController(), new AbortController()];
    const first = ensure('app:1', 'u1', undefined, one.signal);
    const second = ensure('app:1', 'u2', undefined, other.signal);
    await clock.settle();
    one.abort(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    expect(signals.map((signal) => signal?.aborted)).toEqual([false]);
    other.abort(new Error('gone too'));
    await expect(second).rejects.toThrow('gone too');
    expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
    expect(await ensure('app:1', 'u3')).toEqual({ imageRef: 'app:1' });
    expect(pulls).toEqual(['app:1', 'app:1']);
  });

  test('the rate limit delays pulls beyond the burst instead of failing them', async () => {
    const { ensure, clock, pulls } = setUp({ qps: 1, burst: 2 });
    const all = ['a:1', 'b:1', 'c:1', 'd:1'].map((image) => ensure(image));
    await clock.settle();
    expect(pulls).toEqual(['a:1', 'b:1']);
    await clock.advance(1000);
    expect(pulls).toEqual(['a:1', 'b:1', 'c:1']);
    await clock.advance(1000);
    expect(pulls).toEqual(['a:1', 'b:1', 'c:1', 'd:1']);
    expect(await Promise.all(all)).toHaveLength(4);
  });

  test('pulls that are requested after the pull rate changed start at the new rate', async () => {
    const { manager, ensure, clock, pulls } = setUp({ qps: 1, burst: 1 });
    const all = [ensure('a:1')];
    await clock.settle();
    manager.setPullRate({ qps: 0, burst: 0 });
    all.push(ensure('b:1'), ensure('c:1'));
    await clock.settle();
    expect(pulls).toEqual(['a:1', 'b:1', 'c:1']);
    expect(await Promise.all(all)).toHaveLength(3);
    expect(() => manager.setPullRate({ qps: Number.NaN, burst: 1 })).toThrow('qps');
  });

  test('a pull that is aborted while it waits for the rate limit uses no permit', async () => {
    const { ensure, clock, pulls } = setUp({ qps: 1, burst: 1 });
    const first = ensure('a:1');
    const controller = new AbortController();
    const given = ensure('b:1', 'u2', undefined, controller.signal);
    await clock.settle();
    controller.abort(new Error('gone'));
    await expect(given).rejects.toThrow('gone');
    const last = ensure('c:1', 'u3');
    await clock.advance(1000);
    expect(pulls).toEqual(['a:1', 'c:1']);
    expect(await Promise.all([first, last])).toHaveLength(2);
  });

  test('a rate limit of 0 means no limit for pulls', async () => {
    const { ensure, clock, pulls } = setUp({ qps: 0, burst: 1 });
    const all = ['a:1', 'b:1', 'c:1'].map((image) => ensure(image));
    await clock.settle();
    expect(pulls).toHaveLength(3);
    expect(await Promise.all(all)).toHaveLength(3);
  });
});

test('a pull tries all matching credentials in turn, and reports all errors if none succeeds', async () => {
  const { ensure, state } = setUp();
  state.auths = ['wrong', 'right'];
  state.pull = async (image, _signal, auth) => {
    if (auth !== 'right') throw new Error(`${auth} is refused`);
    return image;
  };
  expect(await ensure('app:1')).toEqual({ imageRef: 'app:1' });
  state.auths = ['wrong', 'worse'];
  await expect(ensure('app:2')).rejects.toThrow('[wrong is refused, worse is refused]');
});

test('reports an error that the registry returns for several credentials only once', async () => {
  const { ensure, state } = setUp();
  state.auths = ['one', 'two'];
  state.pull = () => Promise.reject(new Error('SignatureValidationFailed: no signature'));
  await expect(ensure('app:1')).rejects.toMatchObject({
    code: 'SignatureValidationFailed',
    message: 'image pull failed for app:1 because the signature validation failed: no signature',
  });
});

test('writes the pull intent before and the pull record after a pull, and pulls a present image again if its record requires verification', async () => {
  const log: string[] = [];
  const { ensure, present } = setUp(
    {},
    {
      mustPull: async () => true,
      intent: async (image) => void log.push(`intent ${image}`),
      pulled: async (image, ref) => void log.push(`pulled ${image} ${ref}`),
      failed: async (image) => void log.push(`failed ${image}`),
    },
  );
  present.set('app:1', 1);
  await ensure('app:1');
  expect(log).toEqual(['intent app:1', 'pulled app:1 ref-app:1']);
});

test.each([
  [0, 'N/A'],
  [1, '0-10MB'],
  [10 * 1024 ** 2, '0-10MB'],
  [10 * 1024 ** 2 + 1, '10MB-100MB'],
  [200 * 1024 ** 3, 'GT100GB'],
])('counts a pulled image of %d bytes in the size bucket %s', (bytes, expected) => {
  expect(sizeBucket(bytes)).toBe(expected);
});

test('logs errors of observers without affecting the result of a pull', async () => {
  const boom = (): never => {
    throw new Error('boom');
  };
  const errors: object[] = [];
  const manager = new ImageManager({
    images: {
      imageStatus: async () => ({ image: null, info: {} }),
      pullImage: async () => ({ imageRef: 'sha256:1' }),
    },
    clock: new FakeClock(),
    logger: { ...silentLogger, error: (fields: object) => void errors.push(fields) },
    recorder: { event: boom },
    onPull: boom,
  });
  const pod: Pod = { metadata: { name: 'web', namespace: 'd', uid: 'u' }, spec: { containers: [{ name: 'main' }] } };
  const { signal } = new AbortController();
  const found = await manager.ensureImageExists(pod, { name: 'main', image: 'app:1' }, {}, '', signal);
  expect(found).toEqual({ imageRef: 'sha256:1' });
  expect(errors).toMatchObject([{ what: 'recorder' }, { what: 'recorder' }, { what: 'onPull' }]);
});
