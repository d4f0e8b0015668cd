import json,csv,glob,os
cols="item language region topic form scenario question answer variants explanation scenario_en question_en answer_en explanation_en fact look_up source status".split()
os.makedirs("warehouse/reference/culturall_item",exist_ok=True)
for f in sorted(glob.glob("/tmp/culturall/items_*.jsonl")):
    lang=f.split("_")[-1][:-6]
    rows=[json.loads(l) for l in open(f) if l.strip()]
    with open(f"warehouse/reference/culturall_item/{lang}.csv","w",newline="") as out:
        w=csv.DictWriter(out,cols,lineterminator="\n"); w.writeheader()
        for r in sorted(rows,key=lambda r:r["id"]):
            w.writerow({**{c:r.get(c,"") for c in cols},"item":r["id"],"variants":"|".join(r["variants"]),"source":"written for this project","status":"not checked by people"})
