/** Source of a service that only starts, logs and stops as a test needs. */
export const standInService = `
import { createServer } from 'node:http';
import { writeFileSync } from 'node:fs';
const { env } = process;
const pod = env.WEBCAPTURE_POD;
const say = (msg, fields) =>
  console.log(JSON.stringify({ level: 'info', time: new Date().toISOString(), pod, msg, ...fields }));
writeFileSync('env-' + pod + '.json', JSON.stringify(env));
const begin = Date.now();
const ops = createServer((request, response) => {
  const ready = Date.now() - begin > Number(env.READY_AFTER_MS ?? 0);
  response.writeHead(request.url === '/readyz' && ready ? 200 : 503).end(ready ? 'ok' : 'warming up');
}).listen(env.WEBCAPTURE_OPS_PORT, env.WEBCAPTURE_OPS_HOST, () => say('up', { pid: process.pid }));
if (env.PORT && pod === 'front') createServer().listen(env.PORT, env.WEBCAPTURE_HOST);
process.on('SIGTERM', () => {
  say('told to stop');
  if (!env.DEAF) process.exit(0);
});
`;
