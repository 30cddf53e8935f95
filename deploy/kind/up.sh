#!/usr/bin/env bash
# Runs webcapture on a laptop in a new kind cluster. Needs docker, kind, kubectl and helm.
#   deploy/kind/up.sh           builds the images, makes the cluster "webcapture" (or uses it), installs the chart, tests it
#   deploy/kind/up.sh --down    removes the cluster and all that is in it
set -euo pipefail
cd "$(dirname "$0")/../.."
cluster=webcapture

for program in docker kind kubectl helm; do
  command -v "$program" > /dev/null || { echo "needs $program" >&2; exit 1; }
done
if [ "${1:-}" = --down ]; then
  exec kind delete cluster --name "$cluster"
fi

# A new tag for each run, because the cluster would otherwise use the image of an earlier run.
tag=local-$(date +%s)
for image in front renderer; do
  docker build -f deploy/docker/Dockerfile --target "$image" -t "webcapture.local/$image:$tag" .
done
kind get clusters | grep -qx "$cluster" || kind create cluster --name "$cluster" --wait 120s
kind load docker-image --name "$cluster" "webcapture.local/front:$tag" "webcapture.local/renderer:$tag"

kubectl config use-context "kind-$cluster" > /dev/null
kubectl apply --server-side --force-conflicts -f charts/webcapture/crds/
helm upgrade --install webcapture charts/webcapture --namespace webcapture --create-namespace --wait --timeout 10m \
  --set image.repository=webcapture.local/front --set image.tag="$tag" \
  --set renderer.image.repository=webcapture.local/renderer --set renderer.image.tag="$tag"
helm test webcapture --namespace webcapture
