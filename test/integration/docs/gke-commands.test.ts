import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { checkPage } from './support/check-page.ts';

let page: string;
beforeAll(async () => {
  page = await readFile(new URL('../../../docs/gke.md', import.meta.url), 'utf8');
});

/** Returns the page with a part replaced. The part must exist. */
const changed = (part: string | RegExp, by: string) => {
  const result = page.replace(part, by);
  expect(result).not.toBe(page);
  return result;
};

test('the commands of docs/gke.md use only what earlier commands made, and remove all of it', async () => {
  const { faults, calls, releases } = await checkPage(page);
  expect(faults).toEqual([]);
  expect(calls.length).toBeGreaterThan(100);
  expect(releases.length).toBeGreaterThan(2);
});

test('each YAML block of docs/gke.md is a file that the tests render', () => {
  expect(page).not.toContain('```yaml');
});

// Each test runs the whole page in Bash.
describe('the check reports', { tags: 'long' }, () => {
  test.each<[string, string | RegExp, string, RegExp]>([
    [
      'a Google service account that is bound and never created',
      / {2}gcloud iam service-accounts create .*\n/,
      '',
      /line 12\d: no command before made the Google service account webcapture-front@/,
    ],
    ['a name that Google refuses', 'create webcapture-nodes ', 'create nodes ', /nodes must have 6 to 30 letters/],
    [
      'a custom role that is created and never bound',
      /gcloud storage buckets add-iam-policy-binding .*webcaptureFiles.*\n.*\n/g,
      '',
      /the custom role webcaptureFiles is bound to no account/,
    ],
    [
      'a service without a role on the bucket',
      /gcloud storage buckets add-iam-policy-binding .*webcaptureFiles.*\n.*webcapture-controller.*\n/,
      '',
      /webcapture-controller@.* has no role on the bucket/,
    ],
    [
      'a bucket with public access prevention that is made public',
      /gcloud storage buckets update .* --no-public-access-prevention\n/,
      '',
      /acme-files has --public-access-prevention and cannot be public/,
    ],
    [
      'a version of KEDA that is checked before KEDA is installed',
      /(helm install keda .*\n)(kubectl get crd .*\n)/,
      '$2$1',
      /no command before installed the CRD of scaledobjects\.keda\.sh/,
    ],
    [
      'an installation without KEDA, whose ScaledObjects it contains',
      /helm install keda .*\nkubectl get crd .*\n/,
      '',
      /no command before made the API group keda\.sh/,
    ],
    [
      'a ServiceMonitor without its operator',
      'charts/webcapture/examples/gke/hub.yaml > hub.yaml\n',
      'charts/webcapture/examples/gke/hub.yaml > hub.yaml\necho "  serviceMonitor: { enabled: true }" >> hub.yaml\n',
      /no command before made the API group monitoring\.coreos\.com/,
    ],
    [
      'Managed Service for Prometheus that the cluster does not have',
      '--enable-managed-prometheus --service-account',
      '--service-account',
      /no command before made the API group monitoring\.googleapis\.com/,
    ],
    [
      'annotations that kubectl sets',
      'helm test webcapture --namespace webcapture\n',
      'kubectl -n webcapture annotate serviceaccount webcapture-front a=b\n',
      /annotations of the chart belong in its values/,
    ],
    [
      'a ServiceAccount that may not use its Google service account',
      '[webcapture/webcapture-$service]',
      '[webcapture/$service]',
      /no command before made the binding .*\[webcapture\/webcapture-front\]/,
    ],
    [
      'a user of the NATS servers without a password',
      'front operator renderer-us-east',
      'front renderer-us-east',
      /no command before made the key of a Secret nats\/webcapture-nats\/operator-password/,
    ],
    [
      'signed links that the front may not sign',
      /gcloud iam service-accounts add-iam-policy-binding .*\n.*serviceAccountTokenCreator.*\n/,
      '',
      /no command before made the binding .*serviceAccountTokenCreator/,
    ],
    [
      'private nodes without Cloud NAT',
      /gcloud compute routers nats create .*\n.*\n/,
      '',
      /private nodes need Cloud NAT/,
    ],
    [
      'an API that is not enabled',
      ' certificatemanager.googleapis.com',
      '',
      /made the API certificatemanager\.googleapis\.com/,
    ],
    [
      'a flag that gcloud does not have',
      '--enable-private-nodes',
      '--private-nodes',
      /--private-nodes .* if it has the flag/,
    ],
    [
      'a value that the chart does not have',
      'cdnUrl: https',
      'cdnAddress: https',
      /must NOT have additional properties.*cdnAddress/,
    ],
    [
      'a name of the example that is not replaced',
      ' -e "s/example-webcapture/$BUCKET/g"',
      '',
      /still contain example-webcapture/,
    ],
    [
      'a Secret without the password of a user',
      'controller front renderer-us-east; do echo "--from-literal=$user-password=$(value',
      'controller front; do echo "--from-literal=$user-password=$(value',
      /key of a Secret webcapture\/webcapture-nats\/renderer-us-east-password/,
    ],
    [
      'what is not removed',
      'gcloud dns managed-zones delete capture --quiet\n',
      '',
      /nothing removes the DNS zone capture/,
    ],
  ])('%s', async (_, part, by, fault) => {
    const { faults } = await checkPage(changed(part, by));
    expect(faults.join('\n')).toMatch(fault);
  });

  test.each<[string, string, string, RegExp]>([
    ['a variable that no command sets', '--range 10.0.0.0/20', '--range $RANGE', /RANGE: unbound variable/],
    ['a block that Bash cannot parse', 'sleep 30; done', 'sleep 30', /syntax error/],
    [
      'a program that the page does not name',
      'npm run --silent nats-users',
      'nats-users',
      /nats-users: command not found/,
    ],
  ])('%s, because Bash refuses it', async (_, part, by, message) => {
    await expect(checkPage(changed(part, by))).rejects.toThrow(message);
  });
});
