import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canonicalImageName,
  effectiveTag,
  familiarImageName,
  imageRepository,
  parseImageReference,
} from '../src/index.ts';

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;

describe('parseImageReference', () => {
  it.each<[image: string, canonical: string, familiar: string, tag: string | undefined]>([
    ['busybox', 'docker.io/library/busybox:latest', 'busybox', 'latest'],
    ['busybox:1.36', 'docker.io/library/busybox:1.36', 'busybox:1.36', '1.36'],
    ['docker.io/busybox', 'docker.io/library/busybox:latest', 'busybox', 'latest'],
    ['index.docker.io/busybox', 'docker.io/library/busybox:latest', 'busybox', 'latest'],
    ['user/app', 'docker.io/user/app:latest', 'user/app', 'latest'],
    ['library/app', 'docker.io/library/app:latest', 'app', 'latest'],
    ['library/sub/app', 'docker.io/library/sub/app:latest', 'library/sub/app', 'latest'],
    ['registry.k8s.io/pause:3.10', 'registry.k8s.io/pause:3.10', 'registry.k8s.io/pause:3.10', '3.10'],
    ['localhost/app', 'localhost/app:latest', 'localhost/app', 'latest'],
    ['localhost:5000/app:v1', 'localhost:5000/app:v1', 'localhost:5000/app:v1', 'v1'],
    ['registry:5000/a/b__c-d.e:v1', 'registry:5000/a/b__c-d.e:v1', 'registry:5000/a/b__c-d.e:v1', 'v1'],
    ['Upper/app', 'Upper/app:latest', 'Upper/app', 'latest'],
    ['[::1]:5000/app', '[::1]:5000/app:latest', '[::1]:5000/app', 'latest'],
    [`busybox@${DIGEST}`, `docker.io/library/busybox@${DIGEST}`, `busybox@${DIGEST}`, undefined],
    [`busybox:1@${DIGEST}`, `docker.io/library/busybox:1@${DIGEST}`, `busybox:1@${DIGEST}`, '1'],
    ['a_b.c/d:1', 'a_b.c/d:1', 'a_b.c/d:1', '1'],
    ['a-b--c', 'docker.io/library/a-b--c:latest', 'a-b--c', 'latest'],
    [`r.io/${'a'.repeat(255)}`, `r.io/${'a'.repeat(255)}:latest`, `r.io/${'a'.repeat(255)}`, 'latest'],
    ['a'.repeat(63), `docker.io/library/${'a'.repeat(63)}:latest`, 'a'.repeat(63), 'latest'],
    [`user/${'a'.repeat(64)}`, `docker.io/user/${'a'.repeat(64)}:latest`, `user/${'a'.repeat(64)}`, 'latest'],
    ['localhost', 'docker.io/library/localhost:latest', 'localhost', 'latest'],
    ...(['384', '512'] as const).map((bits): [string, string, string, undefined] => {
      const digest = `@sha${bits}:${'a'.repeat(Number(bits) / 4)}`;
      return [`busybox${digest}`, `docker.io/library/busybox${digest}`, `busybox${digest}`, undefined];
    }),
    [`app:${'t'.repeat(128)}`, `docker.io/library/app:${'t'.repeat(128)}`, `app:${'t'.repeat(128)}`, 't'.repeat(128)],
  ])('parseImageReference reads %s', (image, canonical, familiar, tag) => {
    const reference = parseImageReference(image);
    expect(canonicalImageName(reference)).toBe(canonical);
    expect(familiarImageName(reference)).toBe(familiar);
    expect(effectiveTag(reference)).toBe(tag);
    expect(canonical.startsWith(imageRepository(reference))).toBe(true);
  });

  it.each([
    ['', 'invalid reference format'],
    [' busybox', 'invalid reference format'],
    ['busybox ', 'invalid reference format'],
    ['Busybox', 'invalid reference format: repository name (library/Busybox) must be lowercase'],
    ['user/App:v1', 'invalid reference format: repository name (user/App) must be lowercase'],
    ['Bad_host.x/app', 'repository name must be lowercase'],
    ['busybox:', 'invalid reference format'],
    ['busybox:-x', 'invalid reference format'],
    [`busybox:${'t'.repeat(129)}`, 'invalid reference format'],
    ['busybox@', 'invalid reference format'],
    ['busybox@sha256:abc', 'invalid reference format'],
    [`busybox@sha256:${'a'.repeat(63)}`, 'invalid checksum digest length'],
    [`busybox@sha256:${'A'.repeat(64)}`, 'invalid checksum digest format'],
    [`busybox@md5:${'a'.repeat(32)}`, 'unsupported digest algorithm'],
    ['a..b', 'invalid reference format'],
    ['a___b', 'invalid reference format'],
    ['-a', 'invalid reference format'],
    ['a/', 'invalid reference format'],
    ['/a', 'invalid reference format'],
    ['a//b', 'invalid reference format'],
    ['http://registry/app', 'invalid reference format'],
    ['registry:port/app', 'invalid reference format'],
    ['-registry.io/app', 'invalid reference format'],
    ['[::1]app', 'invalid reference format'],
    [`busybox@sha384:${'a'.repeat(64)}`, 'invalid checksum digest length'],
    [`busybox@sha512:${'a'.repeat(96)}`, 'invalid checksum digest length'],
    [`busybox@sha256:${'a'.repeat(31)}`, 'invalid reference format'],
    [`user/${'a'.repeat(251)}`, 'repository name must not be more than 255 characters'],
    ['a'.repeat(256), 'repository name must not be more than 255 characters'],
    ['a'.repeat(64), `invalid repository name (${'a'.repeat(64)}), cannot specify 64-byte hexadecimal strings`],
  ])('parseImageReference refuses %j', (image, problem) => {
    expect(() => parseImageReference(image)).toThrow(
      expect.objectContaining({
        code: 'InvalidImageName',
        message: `couldn't parse image name ${JSON.stringify(image)}: ${problem}`,
      }),
    );
  });

  it('parseImageReference returns neither a tag nor a digest for an image without them', () => {
    expect(parseImageReference('a')).toStrictEqual({ domain: 'docker.io', path: 'library/a' });
    expect(parseImageReference('a:b')).toStrictEqual({ domain: 'docker.io', path: 'library/a', tag: 'b' });
    expect(parseImageReference(`a@${DIGEST}`)).toStrictEqual({
      domain: 'docker.io',
      path: 'library/a',
      digest: DIGEST,
    });
  });

  it('the error for a very long image reference does not repeat the reference', () => {
    const told = (length: number): string => {
      try {
        const host = length % 2 === 0 ? 'r.io' : 'rr.io';
        return String(parseImageReference(`${host}/${'a/'.repeat((length - host.length - 2) / 2)}a`).path.length);
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(told(4096)).toMatch(
      /^couldn't parse image name "r\.io\/(?:a\/){2045}a": repository name must not be more than 255/,
    );
    expect(told(4097)).toBe(`couldn't parse image name "rr.io/${'a/'.repeat(29)}...": invalid reference format`);
    expect(told(4098)).toBe(`couldn't parse image name "r.io/${'a/'.repeat(29)}a...": invalid reference format`);
  });

  const component = fc.stringMatching(/^[a-z0-9]{1,8}((\.|_|__|-{1,3})[a-z0-9]{1,8}){0,2}$/);
  const reference = fc
    .record({
      domain: fc.constantFrom('', 'localhost/', 'registry.example:5000/', 'docker.io/', 'a.b.c/', '[fe80::1]/'),
      path: fc.array(component, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/')),
      tag: fc.constantFrom('', ':latest', ':v1.2-x_y', ':_'),
      digest: fc.constantFrom('', `@${DIGEST}`),
    })
    .map(({ domain, path, tag, digest }) => {
      // Without a domain, a first path element that contains a dot would be parsed as the domain.
      return `${domain}${domain === '' ? path.replaceAll('.', '-') : path}${tag}${digest}`;
    });

  it('an image reference is parsed to the same value from its canonical and its familiar form', () => {
    fc.assert(
      fc.property(reference, (image) => {
        const parsed = parseImageReference(image);
        expect(canonicalImageName(parseImageReference(canonicalImageName(parsed)))).toBe(canonicalImageName(parsed));
        // In the familiar form, a first path element that looks like a host would be parsed as the domain.
        const host =
          /^[^/]*[.:]/.test(familiarImageName(parsed).split('@')[0] ?? '') ||
          /^localhost\//.test(familiarImageName(parsed));
        if (!host) expect(parseImageReference(familiarImageName(parsed))).toEqual(parsed);
      }),
    );
  });

  it('parseImageReference reads or refuses any text in linear time', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', '-', '.', '_', '/', ':', '@', 'A', '0'), maxLength: 300 }),
        (image) => {
          try {
            expect(parseImageReference(image).path).toMatch(/^[a-z0-9]/);
          } catch (error) {
            expect(error).toMatchObject({ code: 'InvalidImageName' });
          }
        },
      ),
    );
  });
});
