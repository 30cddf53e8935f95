import { parseCommand, type Project } from './project.ts';

interface Context {
  readonly project: Project;
  /** The words after the name of the command. */
  readonly words: readonly string[];
  readonly flag: (name: string) => string;
  readonly has: (name: string) => boolean;
}

interface Rule {
  /** Flags of the reference of gcloud that pages use; those that end with = take a value. */
  readonly flags: string;
  readonly api?: string;
  readonly run: (context: Context) => void;
}

const emailOf = (project: Project, account: string) =>
  `${account}@${project.names('project')[0]}.iam.gserviceaccount.com`;
const poolOf = (project: Project) => `${project.names('project')[0]}.svc.id.goog`;
const bucketOf = (url = '') => url.replace(/^gs:\/\//, '');

/** Checks a member of an IAM policy. */
function needMember(project: Project, member: string): void {
  if (member === 'allUsers') return;
  const workload = /^serviceAccount:(.+)\[(.+)\/(.+)\]$/.exec(member);
  const principal = /^principal:.*\/projects\/(\d+)\/.*\/workloadIdentityPools\/(.+)\/subject\/ns\/.+\/sa\/.+$/.exec(
    member,
  );
  if (workload !== null) project.need('workload identity pool', workload[1] ?? '');
  else if (principal !== null) project.need('workload identity pool', principal[2] ?? '');
  else if (member.startsWith('serviceAccount:')) {
    const email = member.slice('serviceAccount:'.length);
    project.need('Google service account', email);
    project.note('Google service account with a role', email);
  } else project.fault(`${member} is no member of a policy that this test knows`);
}

function needRole(project: Project, role: string): void {
  const [, of, id] = /^projects\/(.+)\/roles\/(.+)$/.exec(role) ?? [];
  if (id === undefined) {
    if (!/^roles\/[a-zA-Z.]+$/.test(role)) project.fault(`${role} is no role`);
    return;
  }
  project.need('project', of ?? '');
  project.need('custom role', id);
  project.note('bound custom role', id);
}

const create = (kind: string, needs: Readonly<Record<string, string>> = {}, flags = ''): Rule => ({
  flags: `${Object.keys(needs).join('= ')}= ${flags}`,
  run: ({ project, words: [name = ''], flag }) => {
    for (const [from, needed] of Object.entries(needs)) if (flag(from) !== '') project.need(needed, flag(from));
    project.make(kind, name);
  },
});
const describe = (kind: string, flags = ''): Rule => ({
  flags: `format= ${flags}`,
  run: ({ project, words: [name = ''] }) => project.need(kind, name),
});
const remove = (kind: string, flags = ''): Rule => ({
  flags: `quiet ${flags}`,
  run: ({ project, words: [name = ''] }) => project.remove(kind, name),
});
const bind = (kind: string, flags: string, nameOf = (name: string) => name): Rule => ({
  flags: `role= member= ${flags}`,
  run: ({ project, words: [name = ''], flag }) => {
    project.need(kind, nameOf(name));
    needRole(project, flag('role'));
    needMember(project, flag('member'));
    project.note('binding', [kind, nameOf(name), flag('role'), flag('member')].join(' '));
  },
});

const poolFlags =
  'region= machine-type= num-nodes= enable-autoscaling min-nodes= max-nodes= service-account= image-type= sandbox= cluster=';

/** The commands of gcloud that pages use. Their flags are those of gcloud 578. */
const rules: Readonly<Record<string, Rule>> = {
  'config set project': {
    flags: '',
    run: ({ project, words: [name = ''] }) => project.need('project', name),
  },
  'services enable': { flags: '', run: ({ project, words }) => words.forEach((name) => project.make('API', name)) },
  'projects describe': describe('project'),
  'projects add-iam-policy-binding': bind('project', 'condition='),
  'compute networks create': create('network', {}, 'subnet-mode='),
  'compute networks subnets create': create(
    'subnet',
    { network: 'network' },
    'region= range= enable-private-ip-google-access',
  ),
  'compute networks delete': remove('network'),
  'compute networks subnets delete': remove('subnet', 'region='),
  'compute routers create': create('router', { network: 'network' }, 'region='),
  'compute routers nats create': create(
    'Cloud NAT',
    { router: 'router' },
    'region= auto-allocate-nat-external-ips nat-all-subnet-ip-ranges enable-dynamic-port-allocation min-ports-per-vm= max-ports-per-vm=',
  ),
  'compute routers delete': {
    flags: 'quiet region=',
    run: ({ project, words: [name = ''] }) => {
      project.remove('router', name);
      project.names('Cloud NAT').forEach((nat) => project.remove('Cloud NAT', nat));
    },
  },
  'compute addresses create': create('address', {}, 'global'),
  'compute addresses describe': describe('address', 'global'),
  'compute addresses delete': remove('address', 'global'),
  'compute backend-buckets create': create(
    'backend bucket',
    { 'gcs-bucket-name': 'bucket' },
    'enable-cdn cache-mode= load-balancing-scheme=',
  ),
  'compute backend-buckets delete': remove('backend bucket'),
  'compute url-maps create': create('URL map', { 'default-backend-bucket': 'backend bucket' }),
  'compute url-maps delete': remove('URL map', 'global'),
  'compute target-https-proxies create': create(
    'HTTPS proxy',
    { 'url-map': 'URL map', 'certificate-map': 'certificate map' },
    'global',
  ),
  'compute target-https-proxies delete': remove('HTTPS proxy', 'global'),
  'compute forwarding-rules create': create(
    'forwarding rule',
    { 'target-https-proxy': 'HTTPS proxy', address: 'address' },
    'global ports= load-balancing-scheme= network-tier=',
  ),
  'compute forwarding-rules delete': remove('forwarding rule', 'global'),
  'container clusters create': {
    flags: `${poolFlags} release-channel= network= subnetwork= enable-ip-alias enable-private-nodes enable-private-endpoint enable-dns-access
      enable-dataplane-v2 workload-pool= gateway-api= enable-managed-prometheus`,
    run: ({ project, words: [name = ''], flag, has }) => {
      project.make('cluster', name);
      project.need('network', flag('network'));
      project.need('subnet', flag('subnetwork'));
      project.need('Google service account', flag('service-account'));
      if (has('enable-private-nodes') && project.names('Cloud NAT').length === 0)
        project.fault('private nodes need Cloud NAT');
      if (!has('enable-private-nodes') || !has('enable-dataplane-v2'))
        project.fault('the cluster has no private nodes, or nothing that enforces NetworkPolicies');
      if (flag('workload-pool') === poolOf(project)) project.make('workload identity pool', flag('workload-pool'));
      for (const group of ['gateway.networking.k8s.io', 'networking.gke.io'])
        if (flag('gateway-api') === 'standard') project.make('API group', group);
      if (has('enable-managed-prometheus')) project.make('API group', 'monitoring.googleapis.com');
    },
  },
  'container node-pools create': {
    flags: poolFlags,
    run: ({ project, words: [name = ''], flag }) => {
      project.need('cluster', flag('cluster'));
      project.need('Google service account', flag('service-account'));
      project.make(flag('sandbox') === 'type=gvisor' ? 'sandboxed node pool' : 'node pool', name);
    },
  },
  'container clusters get-credentials': {
    flags: 'region= dns-endpoint',
    run: ({ project, words: [name = ''] }) => {
      project.need('cluster', name);
      project.note('context of kubectl', 'current');
    },
  },
  'container clusters delete': remove('cluster', 'region='),
  'artifacts repositories create': create('image repository', {}, 'repository-format= location='),
  'artifacts repositories add-iam-policy-binding': bind('image repository', 'location='),
  'artifacts repositories delete': remove('image repository', 'location='),
  'auth configure-docker': {
    flags: 'quiet',
    run: ({ project, words: [host = ''] }) => project.note('registry that Docker can sign in to', host),
  },
  'storage buckets create': {
    flags: 'location= uniform-bucket-level-access soft-delete-duration= public-access-prevention',
    run: ({ project, words: [url], has }) => {
      project.make('bucket', bucketOf(url));
      if (has('public-access-prevention')) project.note('bucket that cannot be public', bucketOf(url));
    },
  },
  'storage buckets update': {
    flags: 'lifecycle-file= cors-file= no-public-access-prevention',
    run: ({ project, words: [url], has }) => {
      project.need('bucket', bucketOf(url));
      if (has('no-public-access-prevention')) project.remove('bucket that cannot be public', bucketOf(url));
    },
  },
  'storage buckets add-iam-policy-binding': {
    flags: 'role= member=',
    run: (context) => {
      const bucket = bucketOf(context.words[0]);
      bind('bucket', '', bucketOf).run(context);
      if (context.flag('member') === 'allUsers' && context.project.has('bucket that cannot be public', bucket))
        context.project.fault(`the bucket ${bucket} has --public-access-prevention and cannot be public`);
    },
  },
  'storage rm': {
    flags: 'recursive',
    run: ({ project, words: [url] }) => project.remove('bucket', bucketOf(url)),
  },
  'iam service-accounts create': {
    flags: 'display-name=',
    run: ({ project, words: [name = ''] }) => {
      if (!/^[a-z][a-z0-9-]{4,28}[a-z0-9]$/.test(name))
        project.fault(`${name} must have 6 to 30 letters, digits and hyphens`);
      project.make('Google service account', emailOf(project, name));
      project.note('created Google service account', emailOf(project, name));
    },
  },
  'iam service-accounts add-iam-policy-binding': bind('Google service account', ''),
  'iam service-accounts delete': remove('Google service account'),
  'iam roles create': {
    flags: 'project= permissions=',
    run: ({ project, words: [name = ''], flag }) => {
      project.need('project', flag('project'));
      project.make('custom role', name);
      project.note('created custom role', name);
    },
  },
  'iam roles delete': remove('custom role', 'project='),
  'dns managed-zones create': create('DNS zone', {}, 'dns-name= description='),
  'dns managed-zones describe': describe('DNS zone'),
  'dns managed-zones delete': remove('DNS zone'),
  'dns record-sets create': create('DNS record', { zone: 'DNS zone' }, 'type= ttl= rrdatas='),
  'dns record-sets delete': remove('DNS record', 'zone= type='),
  'certificate-manager dns-authorizations create': create('DNS authorization', {}, 'domain='),
  'certificate-manager dns-authorizations describe': describe('DNS authorization'),
  'certificate-manager dns-authorizations delete': remove('DNS authorization'),
  'certificate-manager certificates create': create(
    'certificate',
    { 'dns-authorizations': 'DNS authorization' },
    'domains=',
  ),
  'certificate-manager certificates describe': describe('certificate'),
  'certificate-manager certificates delete': remove('certificate'),
  'certificate-manager maps create': create('certificate map'),
  'certificate-manager maps delete': remove('certificate map'),
  'certificate-manager maps entries create': create(
    'map entry',
    { map: 'certificate map', certificates: 'certificate' },
    'hostname=',
  ),
  'certificate-manager maps entries delete': remove('map entry', 'map='),
};

/** The API that a command by its first argument needs. */
const apis: Readonly<Record<string, string>> = {
  compute: 'compute',
  container: 'container',
  artifacts: 'artifactregistry',
  storage: 'storage',
  iam: 'iam',
  dns: 'dns',
  'certificate-manager': 'certificatemanager',
};

/** Applies a call of gcloud to the project. */
export function callGcloud(project: Project, args: readonly string[]): void {
  const end = args.findIndex((arg) => arg.startsWith('-'));
  const leading = args.slice(0, end === -1 ? args.length : end);
  let length = leading.length;
  while (length > 0 && rules[leading.slice(0, length).join(' ')] === undefined) length--;
  const rule = rules[leading.slice(0, length).join(' ')];
  if (rule === undefined) return project.fault(`add gcloud ${leading.join(' ')} to the rules, with its flags`);
  const command = parseCommand(args.slice(length), rule.flags.split(/\s+/), (flag) =>
    project.fault(`add --${flag} to the flags of gcloud ${leading.slice(0, length).join(' ')}, if it has the flag`),
  );
  const api = apis[leading[0] ?? ''];
  if (api !== undefined) project.need('API', `${api}.googleapis.com`);
  rule.run({
    project,
    words: command.words,
    flag: (name) => command.flags.get(name)?.at(-1) ?? '',
    has: (name) => command.flags.has(name),
  });
}
