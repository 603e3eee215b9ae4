/* examples.c - examples of parameters, bodies and answers, for /openapi.json; ' is written for ".
 * size: table. Tests send every one of them, and check the answers against their schemas. The files
 * are those of the first requests in docs/API.md. */
#include "http/openapi/parts.h"

#include <string.h>

/* Examples for endpoints that need another one than the row of the parameter has (params.h); json
 * NULL: as in the row. */
static const struct special {
    const char *path, *name, *json, *with;
} specials[] = {
    {"/event", "timeout", NULL, "{'object':12}"},
    {"/call-tree", "limit", NULL, "{'format':'ndjson'}"},
    {"/processes", "limit", NULL, "{'format':'ndjson'}"},
    {"/dlio-config", "file", "['trace-*.pfw.gz']"},
    {"/dlio-config", "query", "'epoch == 1 or epoch is null'"},
    {"/dlio-config", "within", "'name == \\'fetch.block\\''"},
    {"/dlio-config", "min_duration", "'10us'"},
};

static const struct {
    const char *path, *json;
} bodies[] = {
    {"/info", "{'dir':['.'],'detail':'files'}"},
    {"/cancel", "{'id':'my-query-17'}"},
    {"/stats",
     "{'query':'cat == \\'POSIX\\'','report':'detailed','group_by':['cat','name'],'top_n':20}"},
    {"/view",
     "{'preset':'io','min_duration':'10ms','select':['ts','name','dur'],'order':'ts','limit':100}"},
    {"/tar", "{'list':false}"},
    {"/event-count", "{'preset':'io','format':'json'}"},
    {"/aggregate", "{'group_by':['name'],'agg':['count','p99:dur'],'preset':'io','sort':['-count'],"
                   "'format':'json'}"},
    {"/call-tree", "{'dir':['.'],'analyze':true,'max_depth':5,'min_total':'1ms'}"},
    {"/processes", "{'dir':['.'],'min_duration':'10us'}"},
    {"/schema", "{'dir':['.'],'phase':'any'}"},
    {"/compare",
     "{'baseline':'rank_0.pfw.gz','variant':['rank_1.pfw.gz'],'defaults':{'percentiles':[0.5]},'"
     "nodes':[{'name':'POSIX I/O','query':"
     "'cat == \\'POSIX\\'','children':[{'name':'reads','query':'name == \\'read\\''}]}]}"},
    {"/read", "{'file':'rank_0.pfw.gz','mode':'lines','start':1,'end':2}"},
    {"/timeline", "{'dir':['.'],'time_range':'0,5s','width':500,'color':'name','events':100}"},
    {"/dlio-config", "{'dir':['.'],'num_workers':4,'prefetch_factor':2,'seed':7}"},
    {"/histogram", "{'dir':['.'],'column':'size','scale':'linear','bins':20}"},
    {"/event", "{'file':'rank_0.pfw.gz','object':12}"},
    {"/find", "{'query':'dur > 1s','at':'1781800000000000'}"},
    {"/suggest", "{'column':'name','prefix':'r'}"},
    {"/organize", "{'groups':['io:cat == \\'POSIX\\'','other:'],'chunk_size':'64MiB'}"},
    {"/reconstruct", "{'dir':'organized','compress':'as_was'}"},
    {"/merge", "{'dir':['.'],'order':'ts','compress':'5'}"},
    {"/split", "{'dir':['.'],'chunk_size':'64MiB','output':'job42','force':true,'verify':true}"},
    {"/pgzip", "{'dir':['.'],'level':6}"},
    {"/q", "{'query':'/aggregate?format=perfetto&time_interval=1s','name':'run1.json.gz'}"},
    {"/index", "{'force':true,'dir':['.'],'dimensions':['ret'],'checkpoint_size':'1MiB'}"},
};

#define MEASURED \
    "{'count':16,'sum':19240,'mean':1202.5,'std':4190.5,'min':210,'max':16912,'p10':229,'p25':" \
    "258,'p50':301,'p75':377," \
    "'p90':512,'p95':590,'p99':16912}"

#define SIDE \
    "{'files':1,'processes':1,'threads':2,'events':16,'total_bytes':4096,'total_io_time_us':" \
    "19240,'makespan_us':613117,'skewed_hosts':[]}"

static const struct {
    const char *schema, *json;
} answers[] = {
    {"Problem",
     "{'type':'about:blank','title':'Bad Request','status':400,'detail':'bad value \\'many\\' for "
     "`top_n`: expected a "
     "whole number, 0 or more','code':'bad_parameter','param':'top_n','request_id':'demo'}"},
    {"Health", "{'status':'ok'}"},
    {"Ready", "{'status':'indexing','files':2,'files_ready':1,'files_failed':0,'files_pending':1,"
              "'directories_unreadable':0,'bytes':5831,'bytes_done':2818}"},
    {"Info", "{'generation':7,'complete':true,'roots':[{'path':'/scratch/run'}],'index':{'path':"
             "'/var/tmp/dftracerd-1000/"
             "3a8c21d0','bytes':94208,'error':null,'cpu':'avx2','inflate':'isal'},'totals':{'files'"
             ":2,'files_ready':2,"
             "'files_pending':0,'files_failed':0,'files_damaged':0,'compressed_bytes':5831,'"
             "uncompressed_bytes':53244,"
             "'index_bytes':17012,'lines':252,'objects':248,'events':224,'counters':0,'aggregated':"
             "0,'metadata':24,'brackets':4,"
             "'invalid':0,'repaired':0,'chunks':2,'processes':2,'threads':4,'hosts':2,'min_ts':"
             "1781800000148312,"
             "'max_te':1781800001134330,'bytes_per_event':237.7}}"},
    {"Stats", "{'report':'detailed','query':'name == "
              "\\'fread\\'','generation':7,'complete':true,'damaged_files':0,'files':2,"
              "'chunks':{'total':2,'scanned':2,'skipped':0,'answered_from_summary':0},'events':16,'"
              "time_range':{'min_ts':"
              "1781800000343251,'max_te':1781800000956368,'span':613117},'groups':[{'name':'fread',"
              "'count':16,'duration':" MEASURED ",'size':" MEASURED ",'bandwidth':" MEASURED
              ",'offset':{'count':0,'sum':0,'mean':null,'std':null,'min':null,"
              "'max':null,'p10':null,'p25':null,'p50':null,'p75':null,'p90':null,'p95':null,'p99':"
              "null}}],'groups_total':1}"},
    {"View", "{'count':112}"},
    {"Archives",
     "{'generation':7,'complete':true,'archives':[{'path':'run1.tar.gz','state':'ready','error':"
     "null,'format':'tar.gz','compressed_bytes':3921,"
     "'uncompressed_bytes':20480,'checkpoints':1,'member_count':2,'traces':1,'trace_bytes':16214,'"
     "trace_lines':70,'trace_events':66,'members':["
     "{'name':'run1','kind':'directory','size':0,'mtime':1781800000,'skipped':'no "
     "file','cut':false},"
     "{'name':'run1/"
     "rank_0.pfw','kind':'file','size':16214,'mtime':1781800000,'skipped':null,'cut':false}]}]}"},
    {"EventCount", "{'events':70,'files':[{'path':'rank_0.pfw.gz','events':33},{'path':'rank_1.pfw."
                   "gz','events':37}]}"},
    {"Schema", "{'columns':[{'path':'dur','type':'int','rows':16,'distinct':16,'distinct_exact':"
               "true,'min':210,'max':16912,"
               "'bloom':false}]}"},
    {"Aggregate", "{'rows':[{'name':'fread','count':16,'dur_p99':16912}],'files':2,'damaged_files':"
                  "0,'scanned':2,'skipped':0,'generation':7,'complete':true}"},
    {"Compare", "{'baseline':'run1','variant':'run2','baseline_meta':" SIDE ",'variant_meta':" SIDE
                ",'query':'','generation':7,'complete':true,"
                "'damaged_files':0,'execution_time_ms':1.25,'tests':1,'regression':'SMALL','failed'"
                ":false,'notes':[],'nodes':[{'name':'root','query':'',"
                "'summary':{'metrics':[{'name':'dur_mean','baseline':1202.5,'baseline_std':4190.5,'"
                "variant':2405,'variant_std':4190.5,'delta':1202.5,"
                "'pct_change':100,'baseline_zero':false,'cohens_d':0.28,'significance':'SMALL','is_"
                "regression':true,'test':{'n_baseline':16,'n_variant':16,"
                "'welch_t':0.81,'welch_df':30,'welch_p':0.42,'welch_p_holm':0.42,'mann_whitney_u':"
                "140,'mann_whitney_p':0.66,'mann_whitney_p_holm':0.66,"
                "'cliffs_delta':0.09,'difference':'none'}}]},'groups':[],'children':[]}]}"},
    {"CallTree", "{'generation':7,'complete':true,'files':2,'damaged_files':0,'events':224,'in_"
                 "tree':224,'other_phases':0,'untimed':0,"
                 "'partial_overlaps':0,'threads':4,'levels':2,'hosts_apart':[],'tree':{'name':'all'"
                 ",'count':224,'total':961200,'self':0,"
                 "'min':null,'max':null,'children':[{'name':'step','cat':'AI','count':16,'total':"
                 "961200,'self':941960,'min':50210,'max':70110,"
                 "'children':[{'name':'fread','cat':'STDIO','count':208,'total':19240,'self':19240,"
                 "'min':20,'max':16912,'children':[]}]}]}}"},
    {"Processes",
     "{'generation':7,'complete':true,'files':2,'damaged_files':0,'events':224,'without_process':0,"
     "'processes':2,'tree':["
     "{'host':'node-0','pid':3110000,'parent_pid':3109998,'parent_by':'ppid','depth':0,'rank':0,'"
     "command':'python train.py',"
     "'exec':'python','cwd':'/home/"
     "user','min_ts':1781800000000000,'max_te':1781800001000000,'events':150,'threads':2,"
     "'bytes':4194304,'io_time':8123,'files':1,'file':'run1/"
     "rank_0.pfw.gz','finished':true,'children':["
     "{'host':'node-0','pid':3112000,'parent_pid':3110000,'parent_by':'fork','depth':1,'rank':null,"
     "'command':null,'exec':null,"
     "'cwd':null,'min_ts':1781800000200000,'max_te':1781800000900000,'events':74,'threads':1,'"
     "bytes':null,'io_time':0,'files':1,"
     "'file':'run1/rank_0-fork.pfw.gz','finished':false,'children':[]}]}]}"},
    {"Timeline", "{'generation':7,'complete':true,'files':1,'damaged_files':0,'from':1000,'to':"
                 "1999,'column':500,'columns':2,'count':3,'busy':740,"
                 "'untimed':0,'group_by':['host','pid','tid'],'color':'cat','colors':[{'value':'"
                 "POSIX','count':3,'busy':740}],'lanes_total':1,"
                 "'lanes_offset':0,'lanes':[{'keys':['node-0',12,12],'count':3,'before':0,'busy':"
                 "740,'cells':{'slot':[0,1],'count':[2,1],'busy':[500,240],'color':[0,0]}}],'"
                 "events_complete':false,"
                 "'events':[{'lane':0,'color':0,'ts':1000,'dur':600,'name':'read','cat':'POSIX','"
                 "file':'run1/rank_0.pfw.gz','object':12}]}"},
    {"Histogram", "{'generation':7,'complete':true,'column':'dur','files':1,'damaged_files':0,'"
                  "count':16,'values':16,'outside':0,'histogram':["
                  "{'lo':128,'hi':256,'count':4},{'lo':256,'hi':512,'count':12}]}"},
    {"DlioConfig",
     "{'generation':7,'complete':true,'files':8,'damaged_files':0,'config':{'train':{'computation_"
     "time':{'type':'normal','mean':1.39,'stdev':0.02,'max_bound':1.44}}},"
     "'matched':[{'component':'fetch_block','cat':'dataloader','name':'fetch.block','events':160,"
     "'invalid':0,'processes':8,'samples':160}],'other_events':0,'ranks':8,'steps':20,"
     "'steps_most':20,'batch_samples':4,'fits':{'computation_time':{'samples':160,'mean_s':1.39,"
     "'stdev_s':0.02,'min_s':1.36,'max_s':1.45,'constant':false,'type':'normal','drawn_by_dlio':"
     "true,'candidates':[{'type':'normal','mean':1.39,'stdev':0.02,'bic':-790,'ks':0.05,"
     "'log_likelihood':400,'drawn_by_dlio':true}],'histogram':{'from_s':1.36,'width_s':0.04,"
     "'counts':[80,79],'above':1,'density':[6,20,1]}},'preprocess_time':null},'simulation':{"
     "'waits':'traced','num_workers':null,'prefetch_factor':null,'stalls':null,'seed':42,"
     "'traced_e2e_s':61.2,'simulated_e2e_s':60.9,'e2e_error':0.005,'cdf_similarity':0.94,"
     "'traced_rank_variance':0.3,'simulated_rank_variance':0.4,'max_bound_percentile':95,"
     "'iterations':1,'converged':true},'percentiles':{'traced_s':[1.36,1.45],'simulated_s':["
     "1.36,1.44]}}"},
    {"Find", "{'generation':7,'complete':true,'files':1,'damaged_files':0,'count':16,'untimed':0,'"
             "position':3,'event':{'host':'node-0','rank':0,'pid':12,"
             "'tid':12,'ts':1000,'dur':600,'name':'read','cat':'POSIX','ph':'X','file':'run1/"
             "rank_0.pfw.gz','object':12}}"},
    {"Event", "{'generation':7,'columns':{'host':'node-0','pid':12,'tid':12,'ts':1000,'te':1600,'"
              "dur':600,'name':'read','cat':'POSIX'},'event':{'id':12,"
              "'name':'read','cat':'POSIX','pid':12,'tid':12,'ts':1000,'dur':600,'ph':'X','args':{'"
              "ret':4096}},'callers':[],'callers_total':0,'previous':null,"
              "'next':{'ts':1700,'dur':40,'name':'close','cat':'POSIX','file':'run1/"
              "rank_0.pfw.gz','object':13}}"},
    {"Cancelled", "{'id':'my-query-17','ended':1}"},
    {"Checks", "{'version':'0.1.0','checks':[{'level':'ok','text':'all files found are "
               "indexed'},{'level':'warn','text':'1 files are corrupt; their readable parts are "
               "indexed','remedy':'dftracerctl info -v lists them with the positions'}]}"},
    {"Requests", "{'requests':[{'id':'my-query-17','endpoint':'/call-tree','client':'uid "
                 "1000','age_s':3.25,'state':'running','sent_bytes':0}]}"},
    {"Suggest", "{'column':'name','values':[{'value':'read','count':34}]}"},
    {"Organized", "{'version':2,'tool':'dftracerd "
                  "organize','complete':true,'chunk_size':268435456,'groups':[{'name':'io','query':"
                  "'cat == "
                  "\\'POSIX\\'','events':16,'lines':20,'files':[{'path':'io/"
                  "trace-1.pfw.gz','events':16,'lines':20,'text_bytes':4096,"
                  "'bytes':512,'xxh128':'99aa06d3014798d86001c324468d497f'}]},{'name':'_rest','"
                  "query':null,'events':0,'lines':0,'files':[]}],"
                  "'sources':[{'path':'rank_0.pfw.gz','text_bytes':4090,'xxh128':'"
                  "f3c1a6d2e5b4978800112233445566aa'}],'unread':[],"
                  "'provenance':{'path':'provenance.zst','bytes':170,'xxh128':'"
                  "0123456789abcdef0123456789abcdef'}}"},
    {"Reconstructed", "{'files':1,'proved':1,'complete':true,'missing':[],'changed':[],'dropped':[]"
                      ",'sources':[{'path':'rank_0.pfw.gz','output':"
                      "'rank_0.pfw.gz','state':'proved','text_bytes':4090,'xxh128':'"
                      "f3c1a6d2e5b4978800112233445566aa'}]}"},
    {"Repacked", "{'command':'split','generation':7,'complete':true,'sources':[{'path':'rank_0.pfw."
                 "gz','damaged':false,'read':true}],'files':["
                 "{'name':'app-1.pfw.gz','lines':126,'text_bytes':26622,'bytes':2917,'xxh128':'"
                 "99aa06d3014798d86001c324468d497f'}],"
                 "'verified':true,'lines_read':126,'lines_written':126,'hash_read':'"
                 "3c5f2b8c0f0e4a54a1b6a7de5a1d0c39',"
                 "'hash_written':'3c5f2b8c0f0e4a54a1b6a7de5a1d0c39'}"},
    {"ReadCheck", "{'path':'rank_0.pfw.gz','state':'ready','current':true}"},
    {"StoredQueries", "{'queries':[{'id':'6a0c65f6a2d2c1c9b2e3f4a5968778d0','name':'run1.json.gz','"
                      "query':'/aggregate?format=perfetto',"
                      "'url':'/q/6a0c65f6a2d2c1c9b2e3f4a5968778d0/run1.json.gz','open':'/open/"
                      "6a0c65f6a2d2c1c9b2e3f4a5968778d0',"
                      "'expires_s':3600}]}"},
    {"Index", "{'state':'indexing','files':2,'files_ready':1,'files_failed':0,'bytes':5831,'bytes_"
              "done':2818,"
              "'bytes_per_s':98000000,'eta_s':0.00003}"},
};

static struct special special_of(const struct endpoint *e, const struct param_spec *p)
{
    struct special found = {.json = p->example, .with = p->example_with};
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++) {
        const struct special *s = &specials[i];
        if (strcmp(s->path, e->path) != 0 || strcmp(s->name, p->name) != 0)
            continue;
        found.json = s->json ? s->json : found.json;
        found.with = s->with;
    }
    return found;
}

const char *openapi_param_example(const struct endpoint *e, const struct param_spec *p)
{
    return special_of(e, p).json;
}

/* A comparison needs two sides. */
const char *openapi_example_with(const struct endpoint *e, const struct param_spec *p)
{
    if (strcmp(e->path, "/compare") == 0 && strcmp(p->name, "config") != 0)
        return strncmp(p->name, "baseline", 8) == 0  ? "{'variant':['rank_1.pfw.gz']}"
               : strncmp(p->name, "variant", 7) == 0 ? "{'baseline':'rank_0.pfw.gz'}"
                                                     : "{'baseline':'rank_0.pfw.gz',"
                                                       "'variant':['rank_1.pfw.gz']}";
    return special_of(e, p).with;
}

const char *openapi_body_example(const char *path)
{
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        if (strcmp(bodies[i].path, path) == 0)
            return bodies[i].json;
    return NULL;
}

const char *openapi_answer_example(const char *schema)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (strcmp(answers[i].schema, schema) == 0)
            return answers[i].json;
    return NULL;
}
