import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { call, MAPS, PODS, pod, world } from './support.ts';

const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, 0, -1, 1.5, '', 'a', 'web', 'Always', '100m'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom(
        ...[
          'metadata',
          'spec',
          'status',
          'name',
          'labels',
          'containers',
          'conditions',
          'type',
          'ports',
          'finalizers',
          'uid',
        ],
        ...[
          '$patch',
          '$setElementOrder/containers',
          '$deleteFromPrimitiveList/finalizers',
          '$retainKeys',
          '__proto__',
          'kind',
        ],
        ...[
          'annotations',
          'ownerReferences',
          'managedFields',
          'env',
          'resources',
          'requests',
          'cpu',
          'data',
          'volumes',
        ],
      ),
      tie('value'),
      { maxKeys: 4 },
    ),
  ),
})).value;

const patchTypes = ['json-patch+json', 'merge-patch+json', 'strategic-merge-patch+json', 'apply-patch+yaml'] as const;

describe('requests with random content get a valid response', () => {
  test('random creates and replacements get a valid response', async () => {
    await fc.assert(
      fc.asyncProperty(
        json,
        fc.constantFrom(PODS, MAPS, '/api/v1/nodes', '/api/v1/namespaces/default/events'),
        async (body, path) => {
          const { api } = world();
          const sent = { metadata: { name: 'a' }, ...(typeof body === 'object' && !Array.isArray(body) ? body : {}) };
          for (const [method, at] of [
            ['POST', path],
            ['PUT', `${path}/a`],
          ] as const) {
            const { status, text } = await call(api, method, at, sent);
            expect([200, 201, 400, 404, 409, 422], `${method} ${JSON.stringify(sent)}: ${text}`).toContain(status);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test('random patches of every type get a valid response', async () => {
    await fc.assert(
      fc.asyncProperty(
        json,
        fc.constantFrom(...patchTypes),
        fc.constantFrom('', '/status'),
        async (body, type, part) => {
          const { api } = world();
          await call(api, 'POST', PODS, pod('web', { nodeName: 'n' }));
          const headers = { 'content-type': `application/${type}` };
          const patch = (body ?? {}) as object;
          const { status, text } = await call(api, 'PATCH', `${PODS}/web${part}?fieldManager=m`, patch, headers);
          // The real server responds with 500 to a strategic merge patch that does not fit the type.
          const known = status === 500 ? !text.includes('InternalError') : [200, 400, 409, 415, 422].includes(status);
          expect(known, `${type} ${JSON.stringify(body)}: ${text}`).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('random paths and queries get a valid response', async () => {
    const word = fc.constantFrom(
      'api',
      'apis',
      'v1',
      'namespaces',
      'default',
      'pods',
      'web',
      'status',
      '%',
      '%2F',
      '..',
      'a b',
      '',
    );
    const query = fc.constantFrom(
      '',
      '?limit=x',
      '?limit=-1',
      '?continue=e30',
      '?resourceVersion=1e9',
      '?labelSelector=%28',
      '?fieldSelector=%2C',
      '?timeoutSeconds=1.5',
      '?dryRun=Some',
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(word, { maxLength: 7 }),
        query,
        fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
        async (words, tail, method) => {
          const { api } = world();
          const { status, text } = await call(
            api,
            method,
            `/${words.join('/')}${tail}`,
            method === 'GET' ? undefined : {},
          );
          // The real server also responds with 500 to a resource version that is not a number.
          const expected = tail.includes('1e9') && text.includes('strconv.ParseUint') ? [500] : [];
          expect([200, 201, 400, 404, 405, 415, 422, ...expected], text).toContain(status);
        },
      ),
      { numRuns: 500 },
    );
  });
});
