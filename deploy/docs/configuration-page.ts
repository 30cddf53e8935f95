import { defaultLimitVariables } from '@webcapture/shared/accounts/accounts.ts';
import { egressVariables } from '@webcapture/shared/egress/policy.ts';
import { addressVariables, commonVariables, storageVariables } from '@webcapture/shared/runtime/config.ts';
import type { Variable } from '@webcapture/shared/runtime/variables.ts';
import { controllerVariables } from '../../services/controller/config.ts';
import { frontVariables } from '../../services/front/config.ts';
import { rendererVariables } from '../../services/renderer/config.ts';
import { startVariables } from '../local/settings.ts';

/** The variables of each service: what its config.ts reads. */
const services: Readonly<Record<string, readonly Variable[]>> = {
  front: frontVariables,
  renderer: rendererVariables,
  controller: controllerVariables,
  '`npm start`': Object.values(startVariables),
};

const shared: Readonly<Record<string, readonly Variable[]>> = {
  'All services': Object.values(commonVariables),
  'Addresses of the service': Object.values(addressVariables),
  'Network access of captures and webhooks': Object.values(egressVariables),
  'Storage of files': Object.values(storageVariables),
  'Default limits of accounts': Object.values(defaultLimitVariables),
};

const isShared = new Set(Object.values(shared).flat());

const own = (variables: readonly Variable[]) => variables.filter((variable) => !isShared.has(variable));

/** docs/configuration.md, made of the variables that the code reads. */
export function configurationPage(): string {
  return `<!-- Made by \`npm run docs\` from the code that reads the variables. Do not edit by hand. -->

# Configuration

Every service is configured by environment variables, which it reads once, at its start. A value that breaks its rule stops the start: the
service prints every bad variable with its rule, and exits with code 78. An empty value counts as not set. A variable without a default is
optional. The Helm chart sets these variables from [its values](../charts/webcapture/README.md#values).

${Object.entries(shared)
  .map(([title, variables]) => section(title, variables))
  .join('\n')}
Accounts are created with these limits where \`POST /admin/accounts\` names none. Set them to the same values on fronts and controllers. See
[accounts](operations.md#accounts).

${section('Front', own(frontVariables))}
${section('Renderer', own(rendererVariables))}
Two more limits of a capture cannot be changed: it uploads at most 64 MiB, and holds at most 256 connections.

${section('Controller', own(controllerVariables))}
${section('`npm start` and set-up', Object.values(startVariables))}
\`npm start\` passes every variable on to the services that it starts, with other defaults for some, and sets a few itself:

| variable | under \`npm start\` |
| --- | --- |
| \`WEBCAPTURE_HOST\` | default \`127.0.0.1\`: other machines cannot connect |
| \`WEBCAPTURE_PUBLIC_URL\` | default \`http://127.0.0.1:<PORT>\` |
| \`WEBCAPTURE_EGRESS_ALLOW\` | default \`127.0.0.0/8,::1/128\`: pages on this machine can be captured; set it empty to close that |
| \`WEBCAPTURE_API_KEY\` | default: a key that is generated once and kept in the data folder |
| \`WEBCAPTURE_NATS_URL\` | default: a private nats-server that keeps its data in the data folder |
| \`WEBCAPTURE_CHROMIUM_SANDBOX\` | default: \`on\` where it works, else \`off\` with a message that says why |
| \`WEBCAPTURE_HEADLESS_SHELL_PATH\`, \`WEBCAPTURE_CHROMIUM_PATH\` | default: browsers that are found or installed |
| \`WEBCAPTURE_REGIONS\` | also the number of renderers that are started, at most 16 in a region |
| \`WEBCAPTURE_POD\`, \`WEBCAPTURE_REGION\`, \`WEBCAPTURE_OPS_HOST\`, \`WEBCAPTURE_OPS_PORT\` | set by \`npm start\`, one value for each process |
`;
}

function section(title: string, variables: readonly Variable[]): string {
  return `## ${title}

| name | type | default | service | meaning |
| --- | --- | --- | --- | --- |
${variables.map((variable) => row(variable)).join('\n')}
`;
}

function row(variable: Variable): string {
  const { name, type, defaultText, meaning } = variable;
  return `| \`${name}\` | ${type} | ${defaultText} | ${servicesOf(variable)} | ${meaning.replaceAll('|', '\\|')} |`;
}

function servicesOf(variable: Variable): string {
  const readers = Object.keys(services).filter((service) => services[service]?.includes(variable));
  const isEverywhere = ['front', 'renderer', 'controller'].every((service) => readers.includes(service));
  return isEverywhere ? 'all' : readers.join(', ');
}
