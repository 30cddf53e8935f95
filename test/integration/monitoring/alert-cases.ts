import type { AlertCase } from './alert-case.ts';
import { budgetAlertCases } from './budget-alert-cases.ts';

const status = (component: string) => `webcapture_component_status{component="${component}"}`;
const apiOf = (pod: string) => `webcapture_component_status{component="api",pod="${pod}"}`;
const waiting = 'webcapture_queue_waiting_captures{region="us-east",priority="interactive"}';
const oldest = (priority: string) => `webcapture_queue_oldest_age_seconds{region="us-east",priority="${priority}"}`;
const retired = 'webcapture_queue_retired_captures{region="eu-west"}';
const ended = (outcome: string, cause = 'none') =>
  `webcapture_renderer_captures_total{region="us-east",outcome="${outcome}",cause="${cause}"}`;
const tried = (outcome: string) => `webcapture_webhook_attempts_total{outcome="${outcome}"}`;
const results = (outcome: string) => `webcapture_front_results_total{outcome="${outcome}"}`;
const unsettled = (pod: string) => `webcapture_queue_results_oldest_age_seconds{pod="${pod}"}`;
const own = (le: string) => `webcapture_front_own_seconds_bucket{route="/capture",le="${le}"}`;
const slots = (pod: string) => `webcapture_region_slots{region="us-east",pod="${pod}"}`;
const elsewhere = (metric: string) => `${metric}{namespace="elsewhere",region="us-east",pod="c"}`;
const leader = (pod: string) => `webcapture_controller_leader{pod="${pod}"}`;

const returned = (reason: string) => `webcapture_renderer_returned_jobs_total{region="us-east",reason="${reason}"}`;
const volume = (what: 'available' | 'capacity', claim: string) =>
  `kubelet_volume_stats_${what}_bytes{persistentvolumeclaim="${claim}"}`;
const problem = (reason: string) => `webcapture_satellite_problem{reason="${reason}"}`;
const mismatch = (field: string) => `webcapture_fleet_config_mismatch{service="front",field="${field}"}`;

/** Cases of every alert of the chart, evaluated after 20 minutes by default. */
export const alertCases: readonly AlertCase[] = [
  ...budgetAlertCases,
  {
    alert: 'WebcaptureRegionDown',
    fires: { [status('engine.us-east')]: '0x17 3x3' },
    labels: { component: 'engine.us-east' },
    summary: 'engine.us-east has a major outage: no captures are rendered',
    // A partial outage of the region, and a major one of another component.
    quiet: { [status('engine.us-east')]: '2x20', [status('storage')]: '3x20' },
  },
  {
    alert: 'WebcaptureRegionDown',
    // One Prometheus has the series of two clusters.
    fires: {
      'webcapture_component_status{component="engine.us-east",cluster="a"}': '0x20',
      'webcapture_component_status{component="engine.us-east",cluster="b"}': '3x20',
    },
    labels: { component: 'engine.us-east', cluster: 'b' },
    summary: 'engine.us-east has a major outage: no captures are rendered',
    quiet: { 'webcapture_component_status{component="engine.us-east",cluster="a"}': '0x20' },
  },
  {
    alert: 'WebcaptureNoFront',
    fires: { 'webcapture_front_captures_in_flight{region="us-east"}': '1x10' },
    labels: {},
    summary: 'No front is available: clients cannot request captures',
    quiet: { 'webcapture_front_captures_in_flight{region="us-east"}': '0x20' },
  },
  {
    alert: 'WebcaptureNoFront',
    fires: { [elsewhere('webcapture_front_captures_in_flight')]: '0x20' },
    labels: {},
    summary: 'No front is available: clients cannot request captures',
    quiet: { 'webcapture_front_captures_in_flight{region="us-east"}': '0x20' },
  },
  {
    alert: 'WebcaptureDegraded',
    fires: { [status('queue')]: '0x8 1x12' },
    labels: { component: 'queue' },
    summary: 'queue has not been operational for 10 minutes',
    quiet: { [status('queue')]: '0x13 1x7' },
  },
  {
    alert: 'WebcaptureDegraded',
    // Only another cluster has lost NATS.
    fires: {
      'webcapture_component_status{component="queue",cluster="a"}': '1x20',
      'webcapture_component_status{component="api",cluster="b"}': '2x20',
      'webcapture_component_status{component="queue",cluster="b"}': '3x20',
    },
    labels: { component: 'queue', cluster: 'a' },
    summary: 'queue has not been operational for 10 minutes',
    // No front reaches NATS, which has its own alert.
    quiet: { [status('api')]: '2x20', [status('queue')]: '3x20', [status('engine')]: '1x20' },
  },
  {
    alert: 'WebcaptureNatsDown',
    fires: { [apiOf('a')]: '0x17 2x3', [apiOf('b')]: '0x17 2x3' },
    labels: {},
    summary: 'No front reaches NATS: captures are refused',
    // One front is cut off, or NATS has restarted.
    quiet: { [apiOf('a')]: '2x20', [apiOf('b')]: '0x19 2x1' },
  },
  {
    alert: 'WebcaptureNoLeader',
    // One front is cut off from NATS, and the other one receives no status.
    fires: {
      [leader('a')]: '0x20',
      [apiOf('a')]: '2x20',
      [apiOf('b')]: '0x20',
      webcapture_front_status_age_seconds: '40+60x20',
    },
    labels: {},
    summary: 'No controller is the leader',
    // No front reaches NATS, which has its own alert.
    quiet: {
      [leader('a')]: '0x20',
      [apiOf('a')]: '2x20',
      [apiOf('b')]: '2x20',
      webcapture_front_status_age_seconds: '40+60x20',
    },
  },
  {
    alert: 'WebcaptureNoLeader',
    fires: { [leader('a')]: '0x20', [leader('b')]: '1x15 0x5', webcapture_front_status_age_seconds: '2x15 40+60x5' },
    labels: {},
    summary: 'No controller is the leader',
    // The leader is in another cluster, and the fronts receive its reports.
    quiet: { [leader('a')]: '0x20', webcapture_front_status_age_seconds: '2x20' },
  },
  {
    alert: 'WebcaptureNoLeader',
    // There is no leader. The leader and fronts of another release work.
    fires: {
      [elsewhere('webcapture_controller_leader')]: '1x20',
      [elsewhere('webcapture_front_status_age_seconds')]: '2x20',
    },
    labels: {},
    summary: 'No controller is the leader',
    // There is a leader, but the fronts receive no reports.
    quiet: { [leader('a')]: '1x20', webcapture_front_status_age_seconds: '40+60x20' },
  },
  {
    alert: 'WebcaptureQueueGrows',
    // Two controllers report the same values.
    fires: { [waiting]: '13x20', [slots('a')]: '4x20', [slots('b')]: '4x20' },
    labels: { region: 'us-east' },
    summary: 'Interactive captures wait too long in the queue of us-east',
    quiet: { [waiting]: '12x20', [slots('a')]: '4x20', [oldest('interactive')]: '29x20' },
  },
  {
    alert: 'WebcaptureQueueGrows',
    fires: { [waiting]: '1x20', [slots('a')]: '4x20', [oldest('interactive')]: '40x20' },
    labels: { region: 'us-east' },
    summary: 'Interactive captures wait too long in the queue of us-east',
    quiet: { [waiting]: '1x20', [slots('a')]: '4x20', [oldest('background')]: '40x20' },
  },
  {
    alert: 'WebcaptureBackgroundLate',
    fires: { [oldest('background')]: '21600+60x20' },
    labels: { region: 'us-east' },
    summary: 'Background captures in us-east have waited for more than 6 hours',
    quiet: { [oldest('background')]: '3600+60x20' },
  },
  {
    alert: 'WebcaptureRetiredCaptures',
    fires: { [retired]: '0x14 3x6' },
    labels: { region: 'eu-west' },
    summary: 'Captures wait in eu-west, which is no longer part of the installation',
    // The captures were settled within five minutes.
    quiet: { [retired]: '3x12 _x8', [elsewhere('webcapture_queue_retired_captures')]: '3x20' },
  },
  {
    alert: 'WebcaptureCapturesFail',
    fires: { [ended('completed')]: '0+70x20', [ended('CAPTURE_FAILED', 'service')]: '0+30x20' },
    labels: { region: 'us-east' },
    summary: 'The service fails more than 20% of the captures in us-east',
    // Pages that cannot be opened do not count.
    quiet: {
      [ended('completed')]: '0+20x20',
      [ended('NAVIGATION_FAILED', 'page')]: '0+80x20',
      [ended('CAPTURE_FAILED', 'page')]: '0+80x20',
      [ended('CAPTURE_FAILED', 'client')]: '0+80x20',
    },
  },
  {
    alert: 'WebcaptureStorageFails',
    fires: { [ended('STORAGE_FAILED', 'service')]: '0+2x20' },
    labels: {},
    summary: 'Files cannot be stored',
    quiet: { [ended('STORAGE_FAILED', 'service')]: '0x10 1x10', [status('storage')]: '1x20' },
  },
  {
    alert: 'WebcaptureStorageFails',
    fires: { [returned('store_unavailable')]: '0+2x20' },
    labels: {},
    summary: 'Files cannot be stored',
    quiet: { [returned('store_unavailable')]: '0x10 1x10', [returned('shutting_down')]: '0+2x20' },
  },
  {
    alert: 'WebcaptureStorageFails',
    fires: { [status('storage')]: '2x20' },
    labels: {},
    summary: 'Files cannot be stored',
    quiet: { [status('queue')]: '2x20' },
  },
  {
    alert: 'WebcaptureResultsUnsettled',
    // Two controllers report the same values.
    fires: { [unsettled('a')]: '0x10 200+60x10', [unsettled('b')]: '0x10 200+60x10' },
    labels: {},
    summary: 'Results of renderers are not settled, so their captures do not end',
    // The same result has waited for only three minutes, or other results have waited briefly.
    quiet: { [unsettled('a')]: '0x17 60+60x3', [unsettled('b')]: '2x20' },
  },
  {
    alert: 'WebcaptureResultsRefused',
    fires: { [results('forged')]: '0+3x20', [results('completed')]: '0+90x20' },
    labels: { outcome: 'forged' },
    summary: 'Fronts refuse results of renderers with the outcome forged',
    // Repeated and late results are normal, and the rejected result is old.
    quiet: { [results('repeated')]: '0+3x20', [results('unknown')]: '0+3x20', [results('rejected')]: '0x2 1x18' },
  },
  {
    alert: 'WebcaptureWebhooksFail',
    after: '70m',
    fires: { [tried('delivered')]: '0+1x70', [tried('retried')]: '0+2x70' },
    labels: {},
    summary: 'More than half of the webhook delivery attempts fail',
    quiet: { [tried('delivered')]: '0+2x70', [tried('retried')]: '0+1x70' },
  },
  {
    alert: 'WebcaptureBrowserDown',
    fires: { 'webcapture_renderer_browser_up{pod="p",region="us-east"}': '1x15 0x5' },
    labels: { pod: 'p', region: 'us-east' },
    summary: 'The renderer p has no running browser',
    quiet: { 'webcapture_renderer_browser_up{pod="p",region="us-east"}': '1x18 0x2' },
  },
  {
    alert: 'WebcaptureFrontSlow',
    fires: { [own('0.1')]: '0+90x20', [own('0.5')]: '0+100x20', [own('+Inf')]: '0+100x20' },
    labels: {},
    summary: 'Fronts take more than 100 ms for a capture, not counting the wait for a renderer (p99)',
    quiet: { [own('0.1')]: '0+100x20', [own('0.5')]: '0+100x20', [own('+Inf')]: '0+100x20' },
  },
  {
    alert: 'WebcaptureApiServerUnreachable',
    fires: { 'webcapture_kubernetes_informer_age_seconds{pod="p",resource="pods"}': '0+60x20' },
    labels: { pod: 'p' },
    summary: 'p receives nothing from the Kubernetes API server',
    quiet: { 'webcapture_kubernetes_informer_age_seconds{pod="p",resource="pods"}': '290x20' },
  },
  {
    alert: 'WebcaptureUpstreamProxyFails',
    fires: { 'webcapture_upstream_proxy_failures_total{pod="p",reason="authentication"}': '0+3x20' },
    labels: { pod: 'p', reason: 'authentication' },
    summary: 'The upstream proxy of p fails: authentication',
    // Single failures, and targets that the proxy refuses.
    quiet: {
      'webcapture_upstream_proxy_failures_total{pod="p",reason="unreachable"}': '0+1x20',
      'webcapture_upstream_proxy_failures_total{pod="p",reason="refused"}': '0+30x20',
    },
  },
  {
    alert: 'WebcaptureNatsVolumeNearlyFull',
    fires: {
      [volume('available', 'data-wc-webcapture-nats-0')]: '20x20',
      [volume('capacity', 'data-wc-webcapture-nats-0')]: '100x20',
    },
    labels: { persistentvolumeclaim: 'data-wc-webcapture-nats-0' },
    summary: 'The volume data-wc-webcapture-nats-0 of the embedded NATS is nearly full',
    // The volume has more space, and that of another program is full.
    quiet: {
      [volume('available', 'data-wc-webcapture-nats-0')]: '30x20',
      [volume('capacity', 'data-wc-webcapture-nats-0')]: '100x20',
      [volume('available', 'data-postgres-0')]: '0x20',
      [volume('capacity', 'data-postgres-0')]: '100x20',
    },
  },
  {
    alert: 'WebcaptureJetStreamNearlyFull',
    fires: {
      'webcapture_jetstream_bytes{storage="file"}': '85x20',
      'webcapture_jetstream_max_bytes{storage="file"}': '100x20',
    },
    labels: {},
    summary: 'The streams take nearly all storage that their NATS account may take',
    quiet: {
      'webcapture_jetstream_bytes{storage="file"}': '75x20',
      'webcapture_jetstream_max_bytes{storage="file"}': '100x20',
    },
  },
  {
    alert: 'WebcaptureStreamNearlyFull',
    fires: {
      'webcapture_stream_bytes{stream="FILES"}': '85x20',
      'webcapture_stream_max_bytes{stream="FILES"}': '100x20',
    },
    labels: { stream: 'FILES' },
    summary: 'The stream FILES is nearly full',
    // A cache drops its oldest entries, and a stream without a limit is never full.
    quiet: {
      'webcapture_stream_bytes{stream="KV_cache"}': '100x20',
      'webcapture_stream_max_bytes{stream="KV_cache"}': '100x20',
      'webcapture_stream_bytes{stream="KV_db"}': '100x20',
    },
  },
  {
    alert: 'WebcaptureStreamUnlimited',
    after: '80m',
    fires: {
      'webcapture_stream_bytes{stream="FILES"}': '1x80',
      'webcapture_stream_bytes{stream="KV_db"}': '1x80',
      'webcapture_stream_max_bytes{stream="KV_db"}': '100x80',
    },
    labels: { stream: 'FILES' },
    summary: 'The stream FILES has no maximum size, and neither has its NATS account',
    quiet: {
      'webcapture_stream_bytes{stream="FILES"}': '1x80',
      'webcapture_jetstream_max_bytes{storage="file"}': '100x80',
    },
  },
  {
    alert: 'WebcaptureSatelliteCutOff',
    fires: { [problem('AuthenticationFailed')]: '0x17 1x3', [problem('FleetUnreachable')]: '0x20' },
    labels: { reason: 'AuthenticationFailed' },
    summary: 'The satellite does not work in its fleet: AuthenticationFailed',
    // The time is too short.
    quiet: { [problem('AuthenticationFailed')]: '0x18 1x2' },
  },
  {
    alert: 'WebcaptureFleetConfigDiffers',
    fires: { [mismatch('cdnUrl')]: '0x4 1x16', [mismatch('regions')]: '0x20' },
    labels: { service: 'front', field: 'cdnUrl' },
    summary: 'The configuration of the front differs from that of its fleet in cdnUrl',
    // The outage occurs while the Deployments restart.
    quiet: { [mismatch('cdnUrl')]: '0x6 1x14' },
  },
];
