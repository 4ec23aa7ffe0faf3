import assert from 'node:assert/strict';
import { at, listAt, textAt } from '../core/json.ts';
import { causesOf, type Examination, has, namesOf, type Scene, STRATEGIC_MERGE, versionOf } from './scene.ts';

/** Returns the path that lists the config maps of the case. */
function own(scene: Scene, query: string = ''): string {
  return `${scene.path('configmaps')}?labelSelector=case%3D${scene.id}${query}`;
}

async function three(scene: Scene): Promise<string[]> {
  const names: string[] = [];
  for (let i = 0; i < 3; i++) names.push(textAt((await scene.configMap()).object, 'metadata', 'name'));
  return names;
}

/** Compliance cases about lists: their content and version. */
export const listExaminations: readonly Examination[] = [
  [
    'a list has a kind, an API version and a resource version, and its items are sorted by name',
    async (scene) => {
      const names = await three(scene);
      const list = await scene.ok('GET', own(scene));
      assert.deepEqual([list.kind, list.apiVersion], ['ConfigMapList', 'v1']);
      assert.match(versionOf(list), /^[1-9]\d*$/);
      assert.deepEqual(namesOf(list), names.sort());
      const [item] = listAt(list, 'items');
      assert.deepEqual([has(item, 'kind'), has(item, 'apiVersion')], [false, false]);
    },
  ],
  [
    'an empty list has an empty items field',
    async (scene) => {
      assert.deepEqual((await scene.ok('GET', own(scene))).items, []);
    },
  ],
  [
    'a list over all namespaces contains the objects of each namespace',
    async (scene) => {
      const names = await three(scene);
      const list = await scene.ok('GET', `/api/v1/configmaps?labelSelector=case%3D${scene.id}`);
      assert.deepEqual(namesOf(list), names.sort());
    },
  ],
  [
    'label selectors support equality, sets, existence and their negations',
    async (scene) => {
      await scene.configMap({ k: 'a' }, { labels: { tier: 'a' } });
      await scene.configMap({ k: 'b' }, { labels: { tier: 'b', extra: 'x' } });
      await scene.configMap({ k: 'c' });
      const found = async (selector: string): Promise<string> => {
        const list = await scene.ok('GET', own(scene, `,${encodeURIComponent(selector)}`));
        return listAt(list, 'items')
          .map((item) => textAt(item, 'data', 'k'))
          .sort()
          .join('');
      };
      assert.equal(await found('tier=a'), 'a');
      assert.equal(await found('tier==a'), 'a');
      assert.equal(await found('tier!=a'), 'bc');
      assert.equal(await found('tier in (a, b)'), 'ab');
      assert.equal(await found('tier notin (a)'), 'bc');
      assert.equal(await found('tier'), 'ab');
      assert.equal(await found('!tier'), 'c');
      assert.equal(await found('tier,extra=x'), 'b');
    },
  ],
  [
    'a malformed label selector is a bad request',
    async (scene) => {
      await scene.refused(400, 'BadRequest', 'GET', `${scene.path('configmaps')}?labelSelector=a%3D%3D%3Db`);
      await scene.refused(400, 'BadRequest', 'GET', `${scene.path('configmaps')}?fieldSelector=a`);
      const status = await scene.refused(400, 'BadRequest', 'GET', `${scene.path('pods')}?fieldSelector=spec.no%3Da`);
      assert.match(String(status.message), /field label not supported: spec\.no/);
    },
  ],
  [
    'pods can be selected by the fields node, phase, restart policy, name and namespace',
    async (scene) => {
      const node = scene.name();
      const bound = await scene.pod({ nodeName: node, restartPolicy: 'Never' });
      const free = await scene.pod();
      await scene.ok('PATCH', `${bound.path}/status`, {
        type: STRATEGIC_MERGE,
        body: { status: { phase: 'Running' } },
      });
      const found = async (selector: string): Promise<string[]> => {
        const query = `?labelSelector=case%3D${scene.id}&fieldSelector=${encodeURIComponent(selector)}`;
        return namesOf(await scene.ok('GET', `/api/v1/pods${query}`));
      };
      assert.deepEqual(await found(`spec.nodeName=${node}`), [bound.name]);
      assert.deepEqual(await found('spec.nodeName='), [free.name]);
      assert.deepEqual(await found('status.phase!=Running'), [free.name]);
      assert.deepEqual(await found('spec.restartPolicy=Never,status.phase=Running'), [bound.name]);
      assert.deepEqual(await found(`metadata.name=${free.name}`), [free.name]);
      assert.deepEqual(await found('metadata.namespace=nowhere'), []);
    },
  ],
  [
    'all pages of a list have the same version, and a continue token leads to the next page',
    async (scene) => {
      // remainingItemCount is only set for lists without selectors, so it is checked in the next case.
      const names = await three(scene);
      const first = await scene.ok('GET', own(scene, '&limit=2'));
      assert.deepEqual(namesOf(first), names.sort().slice(0, 2));
      const token = encodeURIComponent(textAt(first, 'metadata', 'continue'));
      assert.notEqual(token, '');
      await scene.configMap();
      const second = await scene.ok('GET', own(scene, `&limit=2&continue=${token}`));
      assert.deepEqual(namesOf(second), names.slice(2));
      assert.equal(versionOf(second), versionOf(first));
      assert.equal(textAt(second, 'metadata', 'continue'), '');
    },
  ],
  [
    'a page of a list without selector reports how many items remain',
    async (scene) => {
      await three(scene);
      const all = await scene.ok('GET', scene.path('configmaps'));
      const page = await scene.ok('GET', `${scene.path('configmaps')}?limit=1`);
      assert.equal(at(page, 'metadata', 'remainingItemCount'), listAt(all, 'items').length - 1);
    },
  ],
  [
    'a malformed continue token is a bad request, and so is a token together with a resource version',
    async (scene) => {
      await scene.refused(400, 'BadRequest', 'GET', own(scene, '&limit=1&continue=nonsense'));
      await three(scene);
      const page = await scene.ok('GET', own(scene, '&limit=1'));
      const token = encodeURIComponent(textAt(page, 'metadata', 'continue'));
      const path = own(scene, `&limit=1&continue=${token}&resourceVersion=${versionOf(page)}`);
      const status = await scene.refused(400, 'BadRequest', 'GET', path);
      assert.match(String(status.message), /specifying resource version is not allowed when using continue/);
    },
  ],
  [
    'a list with match Exact returns that version, and one with NotOlderThan returns the current state',
    async (scene) => {
      const [first = ''] = await three(scene);
      const before = await scene.ok('GET', own(scene));
      await scene.ok('DELETE', scene.path('configmaps', first));
      const version = versionOf(before);
      const exact = await scene.ok('GET', own(scene, `&resourceVersion=${version}&resourceVersionMatch=Exact`));
      assert.deepEqual([namesOf(exact).length, versionOf(exact)], [3, version]);
      const newer = await scene.ok('GET', own(scene, `&resourceVersion=${version}&resourceVersionMatch=NotOlderThan`));
      assert.ok(Number(versionOf(newer)) >= Number(version));
      await scene.eventually('the cache has the deletion', async () =>
        namesOf(await scene.ok('GET', own(scene, '&resourceVersion=0'))).length === 2 ? true : undefined,
      );
    },
  ],
  [
    'contradictory list options are invalid',
    async (scene) => {
      for (const [query, cause] of [
        ['&resourceVersionMatch=Exact', 'FieldValueForbidden resourceVersionMatch'],
        ['&resourceVersionMatch=Exact&resourceVersion=0', 'FieldValueForbidden resourceVersionMatch'],
        ['&resourceVersionMatch=Sometimes&resourceVersion=1', 'FieldValueNotSupported resourceVersionMatch'],
        ['&sendInitialEvents=true', 'FieldValueForbidden sendInitialEvents'],
        ['&watch=true&sendInitialEvents=true', 'FieldValueForbidden resourceVersionMatch'],
      ] as const) {
        const status = await scene.refused(422, 'Invalid', 'GET', own(scene, query));
        assert.ok(causesOf(status).includes(cause), `${query}: ${causesOf(status).join('; ')}`);
      }
    },
  ],
  [
    'a list of a future version waits for it and then fails with 504',
    async (scene) => {
      const list = await scene.ok('GET', own(scene));
      const version = Number(versionOf(list)) + 1_000_000;
      let answered: Awaited<ReturnType<Scene['send']>> | undefined;
      void scene.send('GET', own(scene, `&resourceVersion=${version}`)).then((answer) => {
        answered = answer;
      });
      const answer = await scene.eventually('it gives up', async () => answered);
      assert.equal(answer.status, 504, answer.text);
      assert.match(answer.text, /Too large resource version/);
      assert.equal(textAt(listAt(answer.body, 'details', 'causes')[0], 'reason'), 'ResourceVersionTooLarge');
    },
  ],
  [
    'a resource version that is not a number is a bad request',
    async (scene) => {
      const answer = await scene.send('GET', own(scene, '&resourceVersion=abc'));
      assert.ok([400, 422, 500].includes(answer.status), answer.text);
      assert.match(answer.text, /invalid/i);
    },
  ],
  [
    'lists and continue tokens of expired versions get 410 with a token to continue',
    async (scene) => {
      const { compact } = scene.options;
      if (compact === undefined) return scene.skip('this server cannot be compacted');
      await three(scene);
      const page = await scene.ok('GET', own(scene, '&limit=1'));
      await scene.configMap();
      await compact();
      await scene.refused(410, 'Expired', 'GET', own(scene, `&resourceVersion=1&resourceVersionMatch=Exact`));
      const token = encodeURIComponent(textAt(page, 'metadata', 'continue'));
      const status = await scene.refused(410, 'Expired', 'GET', own(scene, `&limit=1&continue=${token}`));
      const next = encodeURIComponent(textAt(status, 'metadata', 'continue'));
      assert.equal(namesOf(await scene.ok('GET', own(scene, `&continue=${next}`))).length, 3);
    },
  ],
];
