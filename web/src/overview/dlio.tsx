// What a training run does between two batches: its step times with the fitted distribution, and a simulation beside the trace.
import { useMemo } from "preact/hooks";
import { Chart, type Series } from "../chart";
import { both, count, exact, many, time } from "../format";
import { useAnswer } from "../live";
import { selection, selectionParams } from "../state";
import { Panel, Shown } from "../ui";
import { distributionOf, densityOf, LOOP_BODY, type DlioConfig } from "./model";

const share = (n: number | null | undefined): string => (n == null ? "–" : `${Math.round(n * 1000) / 10} %`);

/** Only where the selection has steps of a training loop. */
export function Training() {
  const params = selectionParams(selection.value), found = useAnswer<{ events: number }>("/event-count", { ...params, query: both(params["query"] as string ?? "", LOOP_BODY), format: "json" });
  return found.data?.events ? <Steps /> : null;
}

function Steps() {
  const answer = useAnswer<DlioConfig>("/dlio-config", { ...selectionParams(selection.value), format: "json" });
  const d = answer.data, fit = d?.fits.computation_time;
  const bars = useMemo(() => (d ? densityOf(d) : null), [d]), curves = useMemo(() => (d ? distributionOf(d) : null), [d]);
  return (
    <Panel title="Training steps" wide busy={answer.loading}
      note={d ? `${many(d.ranks, "rank")}, ${d.steps === d.steps_most ? many(d.steps, "step") : `${exact(d.steps)} to ${many(d.steps_most, "step")}`} each` : ""}>
      <Shown answer={answer}>{() => d && fit && bars && curves && (
        <>
          <p class="note" data-fact="dlio">
            {fit.constant ? `All steps have the computation time ${time(fit.mean_s * 1e6)}.` : `${fit.type === "mixture" ? "A mixture of normal distributions" : `Of the distributions, ${fit.type}`} fits the computation times best: mean ${time(fit.mean_s * 1e6)}, standard deviation ${time(fit.stdev_s * 1e6)}.`}
            {" "}A simulation with it takes {time(d.simulation.simulated_e2e_s * 1e6)} instead of {time(d.simulation.traced_e2e_s * 1e6)} (error {share(d.simulation.e2e_error)}, CDF similarity {share(d.simulation.cdf_similarity)}).
          </p>
          <div class="pair">
            {bars.times.length > 1 && <Chart title="Computation time of steps" across="computation time" times={bars.times} origin={0} series={bars.series(count) as Series[]} height={200} />}
            <Chart title="Computation time, distribution function" across="computation time" times={curves.times} origin={0} series={curves.series(share) as Series[]} height={200} />
          </div>
        </>
      )}</Shown>
    </Panel>
  );
}
