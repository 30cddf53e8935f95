import { writeFileSync } from 'node:fs';
import { TestEngine } from './test/harness/engine.ts';
const engine = await TestEngine.start();
const [out, opts, ...rest] = process.argv.slice(2);
const r = await engine.render({ kind: 'html', html: rest.join(' ') }, JSON.parse(opts));
writeFileSync(out, r.bytes); console.log(r.report);
await engine.close();
