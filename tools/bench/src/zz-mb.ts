// microbench: kubelet over fake-cri; CPU s per batch and RPC counts
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { Kubelet } from '/work/wt/bench/tools/bench/src/zz-kubelet-mb.ts';
const dir = mkdtempSync('/tmp/mb-');
const main = process.argv[2]!, nodeFlags = (process.argv[3] ?? '').split(' ').filter(Boolean); const pods = Number(process.argv[4] ?? 100), batches = Number(process.argv[5] ?? 3);
const fake = spawn(process.execPath, ['/work/wt/bench/packages/fake-cri/dist/bin.js', '--listen', `unix://${dir}/f.sock`, '--image', 'node-agent.local/busybox:1'], { stdio: ['ignore', 'pipe', 'inherit'] });
await new Promise((r) => fake.stdout!.once('data', r));
const k = new Kubelet({ program: main, nodeFlags: nodeFlags.length ? nodeFlags : undefined, verbosity: 0, endpoint: `unix://${dir}/f.sock`, directory: `${dir}/n`, readOnlyPort: 10355 } as never);
const sig = new AbortController().signal;
try {
  const t = performance.now(); await k.start(sig); const startMs = performance.now() - t;
  await new Promise((r) => setTimeout(r, 5000));
  let u = await k.usage(); console.log(`start ${startMs.toFixed(0)} ms, cpu ${u.cpuSeconds.toFixed(2)} rss ${(u.rssBytes / 1e6).toFixed(1)} anon ${(u.anonymousBytes / 1e6).toFixed(1)}`);
  const all: string[] = [];
  for (let b = 0; b < batches; b++) {
    const names = Array.from({ length: pods }, (_, i) => `b-${b}-${i}`);
    const before = await k.usage();
    const t0 = await k.addPods(names); const r = await k.ready(names, sig); 
    const n0 = await k.usage();
    await new Promise((r) => setTimeout(r, 1500));
    const now = await k.usage();
    console.log(`batch ${pods}: ${(Math.max(...r) - t0)} ms first ${Math.min(...r) - t0} cpu ${(n0.cpuSeconds - before.cpuSeconds).toFixed(2)} (+${(now.cpuSeconds - n0.cpuSeconds).toFixed(2)}) rss ${(now.rssBytes / 1e6).toFixed(1)} peak ${(now.peakRssBytes / 1e6).toFixed(1)} anon ${(now.anonymousBytes / 1e6).toFixed(1)}`);
    all.push(...names);
    if (b < batches - 1) { await k.removePods(names); await new Promise((r) => setTimeout(r, 5000)); }
  }
  const text = await (await fetch('http://127.0.0.1:10355/metrics')).text().catch(() => '');
  console.log(text.split('\n').filter((l) => /operations_total\{/.test(l)).map((l) => l.replace('kubelet_runtime_operations_total', '')).join('\n'));
  const i0 = await k.usage(); await new Promise((r) => setTimeout(r, 10000)); const i1 = await k.usage();
  console.log(`idle cpu ${((i1.cpuSeconds - i0.cpuSeconds) * 10).toFixed(2)}% wakeups ${(i1.sleeps - i0.sleeps) / 10}/s rss ${(i1.rssBytes / 1e6).toFixed(1)} anon ${(i1.anonymousBytes / 1e6).toFixed(1)}`);
} finally { await k.stop(); fake.kill(); rmSync(dir, { recursive: true, force: true }); }
