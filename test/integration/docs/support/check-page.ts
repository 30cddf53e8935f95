import { Cluster, type Manifest, type Release } from './cluster.ts';
import { callGcloud } from './gcloud.ts';
import { Project } from './project.ts';
import { runPage, type Call } from './run-page.ts';

/** The names differ from those of the page and the examples, so that a command with a hard-coded name is found. */
const variables = {
  PROJECT: 'acme-project',
  REGION: 'europe-west4',
  DOMAIN: 'shots.acme.test',
  BUCKET: 'acme-files',
};

/** Kinds of resources that must not exist any more at the end of the page. */
const billed = [
  'cluster',
  'bucket',
  'image repository',
  'address',
  'forwarding rule',
  'DNS zone',
  'DNS record',
  'certificate',
  'release',
];
const named = [
  'network',
  'subnet',
  'router',
  'Google service account',
  'custom role',
  'certificate map',
  'map entry',
  'namespace',
];

interface Checked {
  /** Faults of the commands, with their lines. */
  readonly faults: readonly string[];
  readonly calls: readonly Call[];
  readonly releases: readonly Release[];
  readonly applied: readonly Manifest[];
}

/** Runs the commands of a page for GKE with stand-ins, and checks that each name that they use was made before. */
export async function checkPage(page: string): Promise<Checked> {
  const { calls, folder } = await runPage(page, variables);
  const project = new Project();
  project.make('project', variables.PROJECT);
  const cluster = new Cluster(project, folder);
  for (const call of calls) {
    project.atLine(call.line);
    if (call.program === 'gcloud') callGcloud(project, call.args);
    else cluster.call(call);
  }
  for (const role of project.names('created custom role'))
    if (!project.has('bound custom role', role)) project.fault(`the custom role ${role} is bound to no account`);
  for (const email of project.names('created Google service account'))
    if (!project.has('Google service account with a role', email)) project.fault(`${email} has no role`);
  for (const kind of [...billed, ...named])
    for (const name of project.names(kind)) project.fault(`nothing removes the ${kind} ${name}`);
  return { faults: project.faults, calls, releases: cluster.releases, applied: cluster.applied };
}
