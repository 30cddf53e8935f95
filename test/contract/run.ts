// `npm run test:contract`: what the OpenAPI document promises, tried with tools of others against a real front: Schemathesis, and the
// clients that generators make of it; and the tools of agents, looked at with the MCP inspector. They need python3 with venv, Go, and the
// registries of both and of npm.
//   npm run test:contract -- schemathesis              one of them
//   SCHEMATHESIS_ARGS='--seed 2' npm run test:contract more for the command line of Schemathesis
import process from 'node:process';
import { parseCLI, startVitest } from 'vitest/node';

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)]);
const vitest = await startVitest('test', filter, {
  ...options,
  watch: false,
  config: 'test/contract/vitest.config.ts',
});
const modules = vitest.state.getTestModules();
const hasPassed = modules.length > 0 && modules.every((module) => module.ok());
await vitest.close();
process.exit(hasPassed ? 0 : 1);
