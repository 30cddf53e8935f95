import fastify from 'fastify';
import process from 'node:process';

/** The peer: a route that returns the same body for every request. Prints its address. */
const app = fastify();
const answer = JSON.parse(process.argv[2] ?? '{}') as unknown;
app.route({ method: ['GET', 'POST'], url: '/*', handler: async () => answer });
process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`);
